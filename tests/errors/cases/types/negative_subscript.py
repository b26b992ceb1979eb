import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def last(idx, grid):
    grid[idx] = grid[0, -1]


last.inspect(GRID.extent, GRID)
