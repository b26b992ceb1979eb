import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

point = np.zeros(1, [("x", "f4"), ("y", "f4")])[0]


@amp.kernel
def move(idx, a, p):
    p.x = 1.0
    a[idx] = p.x


move.inspect(FLOATS.extent, FLOATS, point)
