import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros(12, [("x", "f4"), ("y", "f4")]))


@amp.kernel
def clear(idx, points):
    points[idx] = (0.0, 1.0)


clear.inspect(POINTS.extent, POINTS)
