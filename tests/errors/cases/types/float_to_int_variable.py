import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def average(idx, a, n):
    total = 0
    for i in range(n):
        total += a[i]
    a[idx] = total / n


average.inspect(FLOATS.extent, FLOATS, 4)
