import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def shift(idx, points, cells):
    points[idx] += amp.int3(1, 2, 3)


shift.inspect(POINTS.extent, POINTS, CELLS)
