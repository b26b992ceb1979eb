import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def any_positive(idx, a):
    found = False
    found = idx[0]
    a[idx] = found


any_positive.inspect(FLOATS.extent, FLOATS)
