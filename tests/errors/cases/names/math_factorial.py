import math

import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def products(idx, a):
    a[idx] = math.factorial(idx[0])


products.inspect(INTS.extent, INTS)
