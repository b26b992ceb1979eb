import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def search(idx, a):
    for i in range(4):
        if a[i] > 0.0:
            break
    else:
        a[idx] = 0.0


search.inspect(FLOATS.extent, FLOATS)
