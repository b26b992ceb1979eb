import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def search(idx, a):
    for k in amp.static_range(4):
        if a[k] > 0.0:
            break
        a[idx] = 0.0


search.inspect(FLOATS.extent, FLOATS)
