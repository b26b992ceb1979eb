"""The last element by -1."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def last(idx, a):
    a[idx] = a[-1]


amp.parallel_for_each(a.extent, last, a)
