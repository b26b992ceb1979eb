import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def row():
    values = amp.private((2, 4), amp.float32)
    values[1, 0] = 0.0
    return values[1]


@amp.kernel
def pick(idx, a):
    v = row()
    a[idx] = v[0]


pick.inspect(FLOATS.extent, FLOATS)
