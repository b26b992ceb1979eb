import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def high(idx, a):
    a[idx] = a[idx] << 32


high.inspect(INTS.extent, INTS)
