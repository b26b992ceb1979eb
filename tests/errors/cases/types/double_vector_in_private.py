import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros((12, 3), np.float32), dtype=amp.float3)
CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def wide(idx, points, cells):
    big = amp.private(3, amp.double3)
    big[0].x = 1


wide.inspect(amp.accelerator("swiftshader"), POINTS.extent, POINTS, CELLS)
