import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros(12, [("id", "i4"), ("x", "f4")]))


@amp.kernel
def name(idx, points):
    points[idx].id = points[idx].x


name.inspect(POINTS.extent, POINTS)
