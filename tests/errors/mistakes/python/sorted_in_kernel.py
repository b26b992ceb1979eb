"""A median by sorted."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def median(idx, a):
    i = idx[0]
    a[idx] = sorted((a[i], a[i + 1], a[i + 2]))[1]


amp.parallel_for_each(amp.extent(6), median, a)
