"""A float as the subscript."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def half(idx, a):
    a[idx] = a[idx[0] / 2]


amp.parallel_for_each(a.extent, half, a)
