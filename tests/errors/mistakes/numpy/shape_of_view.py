"""Bounds by numpy's shape."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))


@amp.kernel
def fill(idx, a):
    if idx[0] < a.shape[0] - 1:
        a[idx] = 1.0


amp.parallel_for_each(a.extent, fill, a)
