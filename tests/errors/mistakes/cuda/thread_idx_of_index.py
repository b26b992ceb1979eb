"""CUDA's names on the index."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(t, a):
    a[t.threadIdx.x + t.blockIdx.x * 4] *= 2.0


amp.parallel_for_each(a.extent.tile(4), scale, a)
