"""A kernel that calls a kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


@amp.kernel
def both(idx, a):
    scale(idx, a)


amp.parallel_for_each(a.extent, both, a)
