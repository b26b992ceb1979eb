import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def lost(idx, points, cells):
    amp.float3(points[idx]).xy = points[idx].yx


lost.inspect(POINTS.extent, POINTS, CELLS)
