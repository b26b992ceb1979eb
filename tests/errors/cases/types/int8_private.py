import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def narrow(idx, a):
    tmp = amp.private(4, np.int8)
    a[idx] = 0.0


narrow.inspect(FLOATS.extent, FLOATS)
