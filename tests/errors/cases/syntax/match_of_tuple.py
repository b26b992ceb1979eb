import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def choose(idx, a):
    pair = a[idx] % 2, a[idx] % 3
    match pair:
        case (0, 0):
            a[idx] = 1


choose.inspect(INTS.extent, INTS)
