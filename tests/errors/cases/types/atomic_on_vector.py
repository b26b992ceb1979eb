import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def add(idx, points, cells):
    amp.atomic_fetch_add(cells[idx], 1)


add.inspect(POINTS.extent, POINTS, CELLS)
