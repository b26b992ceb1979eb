import math

import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
COUNT = 13


@amp.kernel
def local(idx, a):
    tmp = amp.private(math.ceil(COUNT / 4), amp.float32)
    a[idx] = 0.0


local.inspect(FLOATS.extent, FLOATS)
