import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def scale(x):
    return x * fctor


@amp.func
def shift(x):
    return scale(x) + 1.0


@amp.kernel
def both(idx, a):
    a[idx] = shift(a[idx])


both.inspect(FLOATS.extent, FLOATS)
