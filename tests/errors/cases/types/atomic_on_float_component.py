import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def sum_up(idx, points, cells):
    amp.atomic_fetch_or(points[0].x, 1)


sum_up.inspect(POINTS.extent, POINTS, CELLS)
