import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    tmp = amp.private(4, np.floating)
    a[idx] = 0.0


local.inspect(FLOATS.extent, FLOATS)
