import numpy as np

import vkamp as amp

POINTS = amp.array(amp.extent(12), amp.float3, np.zeros((12, 3), np.float32))


@amp.kernel
def clipped(idx, points):
    points[idx] = np.clip(points[idx], 0.0, 1.0)


clipped.inspect(POINTS.extent, POINTS)
