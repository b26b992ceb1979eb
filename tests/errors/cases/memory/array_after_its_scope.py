import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def mirrored(t_idx, a):
    with amp.tile_scope():
        values = amp.tile_static(8, amp.float32)
        values[t_idx.local] = a[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    a[t_idx] = values[7 - t_idx.local[0]]


mirrored.inspect(FLOATS.extent.tile(8), FLOATS)
