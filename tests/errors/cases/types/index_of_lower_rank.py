import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def clear(idx, grid):
    grid[idx] = 1.0


clear.inspect(FLOATS.extent, GRID)
