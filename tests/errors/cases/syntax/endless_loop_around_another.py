import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def count(idx, a):
    while 1:
        for k in range(4):
            if a[k] > 0.0:
                break
        if a[idx] > 0.0:
            continue
        a[idx] += 1.0


count.inspect(FLOATS.extent, FLOATS)
