import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def skip(idx, a):
    for k in amp.static_range(4):
        if a[k] > 0.0:
            continue
        a[idx] = 0.0


skip.inspect(FLOATS.extent, FLOATS)
