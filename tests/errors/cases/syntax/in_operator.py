import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def small(idx, a):
    if idx[0] in (0, 1):
        a[idx] = 1.0


small.inspect(FLOATS.extent, FLOATS)
