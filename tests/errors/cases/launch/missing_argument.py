import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def add(idx, a, b, out):
    out[idx] = a[idx] + b[idx]


add.inspect(FLOATS.extent, FLOATS, FLOATS)
