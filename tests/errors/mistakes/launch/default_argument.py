"""A default of a kernel's parameter."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a, gain=2.0):
    a[idx] *= gain


amp.parallel_for_each(a.extent, scale, a, "fast")
