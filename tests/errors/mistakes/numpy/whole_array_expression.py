"""The whole array at once, as numpy does it."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
b = amp.array_view(np.zeros(8, np.float32))


@amp.kernel
def double(idx, a, b):
    b[idx] = a * 2


amp.parallel_for_each(a.extent, double, a, b)
