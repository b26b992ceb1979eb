"""Weights in a numpy array."""

import numpy as np

import vkamp as amp

WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)
a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def weigh(idx, a):
    a[idx] *= WEIGHTS[idx[0] % 3]


amp.parallel_for_each(a.extent, weigh, a)
