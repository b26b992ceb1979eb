import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def least(idx, a):
    a[idx] = min(a)


least.inspect(FLOATS.extent, FLOATS)
