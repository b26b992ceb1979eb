"""A shift beyond the type."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.kernel
def flags(idx, a):
    a[idx] = 1 << 40


amp.parallel_for_each(a.extent, flags, a)
