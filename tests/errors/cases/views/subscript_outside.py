import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(idx, a):
    part = a.section(2, 4)
    a[idx] = part[4]


launch.inspect(FLOATS.extent, FLOATS)
