import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((3, 4), np.float32))


@amp.kernel
def fill(i, j, grid):
    grid[i, j] = 1.0


amp.parallel_for_each(GRID.extent, fill, GRID)
