"""A matrix with one subscript."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))


@amp.kernel
def scale(idx, a):
    a[idx[0]] *= 2.0


amp.parallel_for_each(a.extent, scale, a)
