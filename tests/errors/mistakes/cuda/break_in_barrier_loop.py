"""A loop with a barrier that some threads leave."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def relax(t_idx, a):
    tmp = amp.tile_static(4, amp.float32)
    for k in range(10):
        tmp[t_idx.local] = a[t_idx]
        t_idx.barrier.wait()
        if a[t_idx] < 0.5:
            break
    a[t_idx] = tmp[0]


amp.parallel_for_each(a.extent.tile(4), relax, a)
