import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def local(t_idx, grid):
    tmp = amp.tile_static((3, 5), amp.float32)
    tmp[2, 5] = 1.0
    grid[t_idx] = 0.0


local.inspect(amp.extent(6, 10).tile(3, 5), GRID)
