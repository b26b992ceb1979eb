import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros((8, 12), np.float32))


@amp.kernel
def transpose(t_idx, a, out):
    values = amp.tile_static((4, 4), amp.float32)
    values[t_idx.local[1], t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait_with_global_memory_fence()
    out[t_idx] = values[t_idx.local]


transpose.inspect(FLOATS.extent.tile(2, 4), FLOATS, FLOATS)
