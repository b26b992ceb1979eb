"""A short vector without its module."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def lengths(idx, a):
    v = float3(a[idx], 1.0, 2.0)
    a[idx] = v.x


amp.parallel_for_each(a.extent, lengths, a)
