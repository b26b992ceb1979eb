import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clear(idx, a):
    tmp = amp.private((4, 4), amp.float32)
    tmp[0] = 0.0
    a[idx] = 0.0


clear.inspect(FLOATS.extent, FLOATS)
