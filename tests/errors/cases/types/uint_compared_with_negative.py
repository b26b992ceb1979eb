import numpy as np

import vkamp as amp

UINTS = amp.array_view(np.zeros(12, np.uint32))


@amp.kernel
def wraps(idx, a):
    if a[idx] > -1:
        a[idx] = 0


wraps.inspect(UINTS.extent, UINTS)
