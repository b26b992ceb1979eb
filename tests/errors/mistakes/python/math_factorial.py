"""A function of math that no device has."""

import math

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def series(idx, a):
    a[idx] = 1.0 / math.factorial(idx[0])


amp.parallel_for_each(a.extent, series, a)
