import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def first(idx, points, cells):
    points[idx].x = points[idx][3]


first.inspect(POINTS.extent, POINTS, CELLS)
