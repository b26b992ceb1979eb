"""numba's shared memory."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def reverse(t_idx, a):
    tmp = cuda.shared.array(4, np.float32)
    tmp[t_idx.local] = a[t_idx]


amp.parallel_for_each(a.extent.tile(4), reverse, a)
