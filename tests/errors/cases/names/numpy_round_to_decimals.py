import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def rounded(idx, a):
    a[idx] = np.round(a[idx], 2)


rounded.inspect(FLOATS.extent, FLOATS)
