import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a):
    for i, j in np.ndindex(2, 2):
        a[idx] += i * j


total.inspect(FLOATS.extent, FLOATS)
