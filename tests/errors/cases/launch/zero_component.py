import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


clear.inspect(amp.extent(3, 0), GRID)
