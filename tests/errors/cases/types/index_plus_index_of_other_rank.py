import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def shift(idx, a):
    a[idx + amp.index(1)] = 0.0


shift.inspect(GRID.extent, GRID)
