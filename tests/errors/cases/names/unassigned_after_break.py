import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def search(idx, a):
    while True:
        if a[idx] > 0.0:
            break
        x = a[idx]
        a[idx] = x + 1.0
    a[idx] = x


search.inspect(FLOATS.extent, FLOATS)
