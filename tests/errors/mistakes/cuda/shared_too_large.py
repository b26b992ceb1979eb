"""Too much shared memory."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((16, 16), np.float32))


@amp.kernel
def copy(t_idx, a):
    tmp = amp.tile_static((128, 128), amp.float32)
    tmp[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = tmp[0, 0]


amp.parallel_for_each(a.extent.tile(16, 16), copy, a)
