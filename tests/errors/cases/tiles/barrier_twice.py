import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def reverse(t_idx, a, out):
    values = amp.tile_static(8, amp.float32)
    values[t_idx.local] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    t_idx.barrier.wait_with_tile_static_memory_fence()
    out[t_idx] = values[7 - t_idx.local[0]]


reverse.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
