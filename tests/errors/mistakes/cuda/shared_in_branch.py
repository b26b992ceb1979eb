"""Shared memory declared where it is used."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def first(t_idx, a):
    if t_idx.local[0] == 0:
        tmp = amp.tile_static(1, amp.float32)
        tmp[0] = a[t_idx]


amp.parallel_for_each(a.extent.tile(4), first, a)
