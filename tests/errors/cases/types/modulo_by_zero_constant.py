import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))

WIDTH = 0


@amp.kernel
def crash(idx, a):
    a[idx] = idx[0] % WIDTH


crash.inspect(INTS.extent, INTS)
