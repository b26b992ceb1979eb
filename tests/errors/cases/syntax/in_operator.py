import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def small(idx, a):
    if 0 in idx[0]:
        a[idx] = 1.0


small.inspect(FLOATS.extent, FLOATS)
