import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def before(idx, grid):
    if idx < (2, 3):
        grid[idx] = 0.0


before.inspect(GRID.extent, GRID)
