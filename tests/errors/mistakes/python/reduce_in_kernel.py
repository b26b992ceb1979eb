"""functools.reduce over a tuple."""

from functools import reduce

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.kernel
def digits(idx, a):
    a[idx] = reduce(lambda total, x: total * 10 + x, (a[idx], 2, 3))


amp.parallel_for_each(a.extent, digits, a)
