import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def halves(t_idx, a, out):
    values = amp.tile_static(4, amp.float32)
    values[t_idx.local[0] // 2] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    out[t_idx] = values[t_idx.local[0] // 2]


halves.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
