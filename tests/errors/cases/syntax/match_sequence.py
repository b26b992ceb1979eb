import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def choose(idx, a):
    match idx[0]:
        case [0, 1]:
            a[idx] = 1.0


choose.inspect(FLOATS.extent, FLOATS)
