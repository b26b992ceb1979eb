import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def far(idx, a):
    limit = -5000000000
    a[idx] = limit


far.inspect(INTS.extent, INTS)
