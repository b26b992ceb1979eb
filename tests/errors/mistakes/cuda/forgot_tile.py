"""The barrier of a kernel without tiles."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def reverse(t_idx, a):
    tmp = amp.tile_static(8, amp.float32)
    tmp[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = tmp[7 - t_idx.local[0]]


amp.parallel_for_each(a.extent, reverse, a)
