import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def scan(t_idx, a, out):
    values = amp.tile_static(8, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    distance = 1
    while distance < 8:
        if i >= distance:
            values[i] += values[i - distance]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        distance *= 2
    out[t_idx] = values[i]


scan.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
