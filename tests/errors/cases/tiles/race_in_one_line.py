import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.func
def first_of(t_idx, x):
    memory = amp.tile_static(1, amp.float32)
    if t_idx.local[0] == 0:
        memory[0] = x
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return memory[0]


@amp.kernel
def firsts(t_idx, a, out):
    out[t_idx] = first_of(t_idx, a[t_idx]) + first_of(t_idx, 2.0)


firsts.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
