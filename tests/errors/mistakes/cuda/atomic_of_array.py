"""numba's atomic, with array and position."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.zeros(8, np.int32))


@amp.kernel
def count(idx, a):
    amp.atomic_fetch_add(a, idx[0], 1)


amp.parallel_for_each(a.extent, count, a)
