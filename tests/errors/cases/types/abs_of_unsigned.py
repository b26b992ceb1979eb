import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def negate(idx, a):
    a[idx] = abs(amp.uint32(idx[0]))


negate.inspect(INTS.extent, INTS)
