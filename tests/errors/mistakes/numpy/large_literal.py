"""A number that int32 cannot hold."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.kernel
def hash(idx, a):
    a[idx] = a[idx] * 2654435761


amp.parallel_for_each(a.extent, hash, a)
