import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def loops(t_idx, a):
    x = a[t_idx]
    while x > 1.0:
        x *= 0.5
        t_idx.barrier.wait_with_tile_static_memory_fence()
    a[t_idx] = x


loops.inspect(FLOATS.extent.tile(4), FLOATS)
