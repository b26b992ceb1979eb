import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def small(idx, a):
    if a[idx] in range(10):
        a[idx] = 0.0


small.inspect(FLOATS.extent, FLOATS)
