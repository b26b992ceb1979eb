"""Rows and columns of a flat array."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(16, np.float32))


@amp.kernel
def scale(idx, a):
    a[idx[0], idx[1]] *= 2.0


amp.parallel_for_each(amp.extent(4, 4), scale, a)
