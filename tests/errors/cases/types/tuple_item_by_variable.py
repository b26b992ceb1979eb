import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def mixed(idx, a, n):
    pair = (idx[0], 2.0)
    a[idx] = pair[n]


mixed.inspect(FLOATS.extent, FLOATS, 1)
