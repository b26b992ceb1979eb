import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    tmp = np.zeros(4)
    a[idx] = tmp[0]


local.inspect(FLOATS.extent, FLOATS)
