import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def clear(idx, a):
    a[0, 0] = 0.0


clear.inspect(amp.extent(9110917, 3627949, 558080), GRID)
