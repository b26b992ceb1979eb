"""A float64 in the kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a):
    x = np.float64(a[idx])
    a[idx] = x * 2.0


amp.parallel_for_each(a.extent, scale, a)
