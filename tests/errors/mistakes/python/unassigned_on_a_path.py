"""A variable that one branch assigns."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def sign(idx, a):
    if a[idx] > 0:
        s = 1.0
    a[idx] = s


amp.parallel_for_each(a.extent, sign, a)
