import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def last(idx, a, n):
    for i in range(n):
        a[i] = 0.0
    a[idx] = i


last.inspect(FLOATS.extent, FLOATS, 4)
