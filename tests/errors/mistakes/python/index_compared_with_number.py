"""The index itself, compared with a number."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def first(idx, a):
    if idx > 3:
        a[idx] = 0.0


amp.parallel_for_each(a.extent, first, a)
