"""Shared memory with numpy's constructor."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def first(t_idx, a):
    tmp = amp.tile_static(4, amp.float32, 0.0)
    tmp[t_idx.local] += a[t_idx]


amp.parallel_for_each(a.extent.tile(4), first, a)
