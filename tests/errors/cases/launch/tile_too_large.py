import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def clear(t_idx, a):
    a[t_idx] = 0.0


clear.inspect(amp.extent(25, 41).tile(25, 41), GRID)
