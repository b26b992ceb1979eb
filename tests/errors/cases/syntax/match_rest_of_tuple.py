import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def choose(idx, a):
    match (a[idx] % 2, a[idx] % 3):
        case (0, 0):
            a[idx] = 1
        case (x, *rest):
            a[idx] = x


choose.inspect(INTS.extent, INTS)
