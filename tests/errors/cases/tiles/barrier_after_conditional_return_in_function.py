import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def load(t_idx, tmp, a):
    if t_idx.local[0] > 2:
        return
    tmp[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()


@amp.kernel
def reverse(t_idx, a):
    tmp = amp.tile_static(4, amp.float32)
    load(t_idx, tmp, a)
    a[t_idx] = tmp[3 - t_idx.local[0]]


reverse.inspect(FLOATS.extent.tile(4), FLOATS)
