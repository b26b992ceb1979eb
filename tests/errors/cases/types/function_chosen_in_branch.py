import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def one():
    return 1.0


@amp.kernel
def choose(idx, a):
    if idx[0] > 2:
        f = one
    a[idx] = 0.0


choose.inspect(FLOATS.extent, FLOATS)
