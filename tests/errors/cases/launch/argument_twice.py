import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clear(idx, a, n):
    a[idx] = n


clear.inspect(FLOATS.extent, FLOATS, 3, n=4)
