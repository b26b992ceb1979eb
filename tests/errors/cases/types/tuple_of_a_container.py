import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def items(idx, a):
    every = tuple(a)
    a[idx] = every[0]


items.inspect(FLOATS.extent, FLOATS)
