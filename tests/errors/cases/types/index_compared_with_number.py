import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def corner(idx, a):
    if idx == 0:
        a[idx] = 0.0


corner.inspect(GRID.extent, GRID)
