"""A variable, deleted."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a):
    x = a[idx]
    a[idx] = x * 2.0
    del x


amp.parallel_for_each(a.extent, scale, a)
