import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def wide(idx, points, cells):
    points[idx] = amp.float3(amp.double3(1, 2, 3))


wide.inspect(amp.accelerator("swiftshader"), POINTS.extent, POINTS, CELLS)
