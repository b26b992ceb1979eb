import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def count(idx, a):
    while True:
        a[idx] += 1.0


count.inspect(FLOATS.extent, FLOATS)
