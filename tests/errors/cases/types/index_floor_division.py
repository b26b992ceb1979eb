import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def coarse(idx, grid):
    grid[idx // 2] = 0.0


coarse.inspect(GRID.extent, GRID)
