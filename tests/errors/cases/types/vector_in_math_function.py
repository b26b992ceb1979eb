import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def root(idx, points, cells):
    points[idx] = np.sqrt(points[idx])


root.inspect(POINTS.extent, POINTS, CELLS)
