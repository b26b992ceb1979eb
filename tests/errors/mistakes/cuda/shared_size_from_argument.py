"""Shared memory as large as an argument says."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def reverse(t_idx, a, n):
    tmp = amp.tile_static(n, amp.float32)
    tmp[t_idx.local] = a[t_idx]


amp.parallel_for_each(a.extent.tile(4), reverse, a, 4)
