"""The barrier without its call."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def sync(t_idx, a):
    a[t_idx] = 1.0
    t_idx.barrier.wait


amp.parallel_for_each(a.extent.tile(4), sync, a)
