import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((3, 4), np.float32))
FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, grid, a):
    a[idx] = np.sum(grid)


total.inspect(FLOATS.extent, GRID, FLOATS)
