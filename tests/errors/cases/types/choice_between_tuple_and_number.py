import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def choose(idx, a):
    x = (1.0, 2.0) if idx[0] > 2 else 0.0
    a[idx] = 0.0


choose.inspect(FLOATS.extent, FLOATS)
