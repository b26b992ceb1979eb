import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def choose(t_idx, a):
    if a[t_idx] > 0.0:
        a[t_idx] = 1.0
    else:
        t_idx.barrier.wait_with_global_memory_fence()


choose.inspect(FLOATS.extent.tile(4), FLOATS)
