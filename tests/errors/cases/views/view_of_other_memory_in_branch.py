import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(idx, a, m):
    part = a.section(0, 4)
    if idx[0] > 2:
        part = m[1].section(0, 4)
    a[idx] = part[0]


launch.inspect(FLOATS.extent, FLOATS, MATRIX)
