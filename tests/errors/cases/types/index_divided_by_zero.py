import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def crash(idx, a):
    a[idx / 0] = 1


crash.inspect(INTS.extent, INTS)
