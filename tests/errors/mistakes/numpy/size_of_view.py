"""The number of elements by numpy's size."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def mean(idx, a):
    a[idx] /= a.size


amp.parallel_for_each(a.extent, mean, a)
