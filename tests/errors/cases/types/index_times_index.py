import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def scale(idx, grid):
    grid[idx * idx] = 0.0


scale.inspect(GRID.extent, GRID)
