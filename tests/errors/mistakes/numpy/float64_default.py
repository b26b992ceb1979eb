"""The float64 that numpy makes by default."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.linspace(0.0, 1.0, 8))


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


amp.parallel_for_each(a.extent, scale, a)
