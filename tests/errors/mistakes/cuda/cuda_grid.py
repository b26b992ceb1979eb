"""numba's grid(1)."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a):
    i = cuda.grid(1)
    if i < len(a):
        a[i] *= 2.0


amp.parallel_for_each(a.extent, scale, a)
