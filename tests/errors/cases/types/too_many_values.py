import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def split(idx, grid):
    x, y = (1, 2, 3)
    grid[idx] = x


split.inspect(GRID.extent, GRID)
