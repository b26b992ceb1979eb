import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    tmp = amp.private((1024, 1024), amp.float32)
    tmp[0, 0] = a[idx]


local.inspect(FLOATS.extent, FLOATS)
