import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def two():
    return 2.0


@amp.kernel
def pick(idx, a):
    a[idx] = two[0]


pick.inspect(FLOATS.extent, FLOATS)
