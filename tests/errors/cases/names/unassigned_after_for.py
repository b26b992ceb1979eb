import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def last(idx, a, n):
    for i in range(n):
        x = a[i]
    a[idx] = x


last.inspect(FLOATS.extent, FLOATS, 4)
