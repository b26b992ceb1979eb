import math

import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def common(idx, a):
    a[idx] = math.gcd(idx[0], 12)


common.inspect(INTS.extent, INTS)
