"""A tile of 1024 threads in two dimensions."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((64, 64), np.float32))


@amp.kernel
def scale(t_idx, a):
    a[t_idx] *= 2.0


amp.parallel_for_each(a.extent.tile(64, 64), scale, a)
