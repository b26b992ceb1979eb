import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def both(idx, grid):
    grid[0] += 1.0


both.inspect(GRID.extent, GRID)
