"""numba's launch."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


scale[1, 8](a)
