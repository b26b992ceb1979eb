import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def average(idx, a):
    best = 0
    if a[idx] > 0.0:
        best = a[idx]
    a[idx] = best


average.inspect(FLOATS.extent, FLOATS)
