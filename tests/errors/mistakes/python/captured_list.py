"""Weights in a list."""

import numpy as np

import vkamp as amp

WEIGHTS = [0.25, 0.5, 0.25]
a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def weigh(idx, a):
    a[idx] *= WEIGHTS[idx[0] % 3]


amp.parallel_for_each(a.extent, weigh, a)
