import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def row(idx, grid):
    grid[idx] = grid[0] + 1.0


row.inspect(GRID.extent, GRID)
