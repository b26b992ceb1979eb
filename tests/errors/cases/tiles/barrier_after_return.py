import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def padded(t_idx, a):
    tmp = amp.tile_static(4, amp.float32)
    if not a.extent.contains(t_idx.global_):
        return
    tmp[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = tmp[3 - t_idx.local[0]]


padded.inspect(amp.extent(12).tile(8).pad(), FLOATS)
