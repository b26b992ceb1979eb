"""CUDA's early return before a barrier."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(10, np.float32))


@amp.kernel
def reverse(t_idx, a):
    if t_idx.global_[0] >= a.extent[0]:
        return
    tmp = amp.tile_static(4, amp.float32)
    tmp[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = tmp[3 - t_idx.local[0]]


amp.parallel_for_each(a.extent.tile(4).pad(), reverse, a)
