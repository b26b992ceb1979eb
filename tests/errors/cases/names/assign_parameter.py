import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def count(idx, a, n):
    n = n - 1
    a[idx] = n


count.inspect(FLOATS.extent, FLOATS, 5)
