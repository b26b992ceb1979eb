import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def tile_sum(t_idx, a, sums):
    values = amp.tile_static(8, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    stride = 4
    while stride > 0:
        if i < stride:
            values[i] += values[i + stride]
        stride //= 2
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if i == 0:
        sums[t_idx.tile] = values[0]


tile_sum.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
