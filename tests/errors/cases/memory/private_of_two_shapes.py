import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def keep(idx, a):
    own = amp.private(3, shape=4)
    own[0] = 1
    a[idx] = own[0]


keep.inspect(FLOATS.extent, FLOATS)
