"""A numpy float64 as an argument."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a, gain):
    a[idx] *= gain


amp.parallel_for_each(a.extent, scale, a, np.float64(2.0))
