import numpy as np

import vkamp as amp

GRID = amp.array_view(np.zeros((6, 10), np.float32))


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


amp.parallel_for_each((3, 5.0), clear, GRID)
