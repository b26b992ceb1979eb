import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def middle(idx, grid):
    grid[idx] = grid[1.5, 0]


middle.inspect(GRID.extent, GRID)
