import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.func
def divide(x, y):
    return x // y, x % y


@amp.kernel
def split(idx, a):
    q, r, s = divide(a[idx], 3)
    a[idx] = q


split.inspect(INTS.extent, INTS)
