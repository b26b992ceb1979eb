"""A function of math without its module."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def roots(idx, a):
    a[idx] = sqrt(a[idx])


amp.parallel_for_each(a.extent, roots, a)
