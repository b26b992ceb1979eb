import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def search(idx, a):
    i = 0
    while i < 4:
        i += 1
    else:
        a[idx] = 0.0


search.inspect(FLOATS.extent, FLOATS)
