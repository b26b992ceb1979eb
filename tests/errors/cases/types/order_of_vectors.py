import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def nearer(idx, points, cells):
    if points[idx] < points[0]:
        cells[idx].x = 1


nearer.inspect(POINTS.extent, POINTS, CELLS)
