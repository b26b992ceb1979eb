import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(idx, a):
    part = a.section(2, 4)
    part[0] = 1.0
    part.synchronize()


launch.inspect(FLOATS.extent, FLOATS)
