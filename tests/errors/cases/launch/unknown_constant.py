import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clear(idx, a, *, SIZE: amp.constant = 4):
    a[idx] = SIZE


clear.inspect(FLOATS.extent, FLOATS, SIZ=5)
