"""A window of three elements, as a slice."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
b = amp.array_view(np.zeros(8, np.float32))


@amp.kernel
def blur(idx, a, b):
    i = idx[0]
    b[idx] = sum(a[i - 1 : i + 2]) / 3


amp.parallel_for_each(a.extent, blur, a, b)
