"""CUDA's built-in variables, as numba spells them."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(t_idx, a):
    i = blockIdx.x * blockDim.x + threadIdx.x
    a[i] *= 2.0


amp.parallel_for_each(a.extent.tile(4), scale, a)
