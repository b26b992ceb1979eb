"""A range of floats."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def halves(idx, a):
    for k in range(len(a) / 2):
        a[idx] += 1.0


amp.parallel_for_each(a.extent, halves, a)
