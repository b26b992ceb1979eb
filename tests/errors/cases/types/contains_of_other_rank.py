import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def inside(idx, a, grid):
    if grid.extent.contains(idx):
        a[idx] = 0.0


inside.inspect(FLOATS.extent, FLOATS, GRID)
