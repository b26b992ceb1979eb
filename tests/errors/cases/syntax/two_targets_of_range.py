import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def pairs(idx, a):
    for i, k in range(4):
        a[idx] += i * k


pairs.inspect(FLOATS.extent, FLOATS)
