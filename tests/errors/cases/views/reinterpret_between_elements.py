import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(idx, a):
    pairs = a.section(amp.index(idx[0])).reinterpret_as(PAIR)
    pairs[0].weight = 1.0


launch.inspect(FLOATS.extent, FLOATS)
