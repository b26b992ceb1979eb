import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def choose(idx, a):
    match idx[0] > 2:
        case True:
            a[idx] = 1.0
        case other:
            a[idx] = other


choose.inspect(FLOATS.extent, FLOATS)
