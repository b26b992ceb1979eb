"""Two arrays in a tuple."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
b = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def add(idx, arrays):
    arrays[0][idx] += arrays[1][idx]


amp.parallel_for_each(a.extent, add, (a, b))
