import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def length(x: amp.float32):
    return abs(x)


@length.register
def _(x: amp.float32, y: amp.float32):
    return abs(x) + abs(y)


@amp.kernel
def lengths(idx, a):
    a[idx] = length(idx)


lengths.inspect(FLOATS.extent, FLOATS)
