import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def powers(idx, a):
    a[idx] = 2 ** idx[0]


powers.inspect(INTS.extent, INTS)
