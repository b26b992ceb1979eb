import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def where(idx, grid):
    grid[idx] = idx.y


where.inspect(GRID.extent, GRID)
