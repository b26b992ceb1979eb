"""CUDA's atomicAdd."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.zeros(8, np.int32))


@amp.kernel
def count(idx, a):
    atomicAdd(a[0], 1)


amp.parallel_for_each(a.extent, count, a)
