import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def choose(idx, a, b):
    c = a if idx[0] > 2 else b
    c[idx] = 0.0


choose.inspect(FLOATS.extent, FLOATS, FLOATS)
