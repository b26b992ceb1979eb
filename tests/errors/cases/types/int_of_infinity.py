import math

import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def endless(idx, a):
    a[idx] = int(math.inf)


endless.inspect(INTS.extent, INTS)
