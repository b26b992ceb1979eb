"""An array too few."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def add(idx, a, b):
    a[idx] += b[idx]


amp.parallel_for_each(a.extent, add, a)
