import math

import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def halvings(idx, a):
    a[idx] = math.log(a[idx], 2.0)


halvings.inspect(FLOATS.extent, FLOATS)
