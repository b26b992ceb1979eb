import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

POINTS = amp.array_view(np.zeros(12, [("x", "f4"), ("y", "f4")]))


@amp.kernel
def length(idx, points, out):
    out[idx] = points[idx] * 2.0


length.inspect(POINTS.extent, POINTS, FLOATS)
