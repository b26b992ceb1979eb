import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    v = amp.array_view(amp.extent(4), amp.float32)
    a[idx] = v[idx]


local.inspect(FLOATS.extent, FLOATS)
