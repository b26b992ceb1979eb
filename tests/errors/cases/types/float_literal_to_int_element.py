import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def half(idx, a):
    a[idx] = 0.5


half.inspect(INTS.extent, INTS)
