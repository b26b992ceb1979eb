import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def swap(idx, a, b):
    source = a
    for k in range(4):
        source = b
    source[idx] = 0.0


swap.inspect(FLOATS.extent, FLOATS, FLOATS)
