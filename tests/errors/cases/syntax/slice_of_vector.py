import numpy as np

import vkamp as amp

POINTS = amp.array(amp.extent(4), amp.float3, np.zeros((4, 3), np.float32))


@amp.kernel
def flatten(idx, points):
    points[idx].xy = points[idx][0:2] * 0.5


flatten.inspect(POINTS.extent, POINTS)
