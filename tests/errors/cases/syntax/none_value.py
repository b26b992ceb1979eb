import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def absent(idx, a):
    best = None
    for i in range(4):
        best = a[i]
    a[idx] = best


absent.inspect(FLOATS.extent, FLOATS)
