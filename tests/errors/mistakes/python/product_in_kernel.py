"""A loop over pairs from itertools."""

import itertools

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.kernel
def pairs(idx, a):
    for i, j in itertools.product(range(3), range(4)):
        a[idx] += i * j


amp.parallel_for_each(a.extent, pairs, a)
