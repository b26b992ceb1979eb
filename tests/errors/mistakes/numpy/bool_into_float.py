"""A comparison, stored as a number's other type."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.kernel
def halves(idx, a):
    a[idx] = a[idx] / 2


amp.parallel_for_each(a.extent, halves, a)
