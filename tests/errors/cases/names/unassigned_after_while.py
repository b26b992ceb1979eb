import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def halve(idx, a):
    while a[idx] > 1.0:
        x = a[idx] * 0.5
        a[idx] = x
    a[idx] = x


halve.inspect(FLOATS.extent, FLOATS)
