import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def order(t_idx, a):
    a[t_idx] = 0.0
    amp.global_memory_fence(t_idx)


order.inspect(FLOATS.extent.tile(4), FLOATS)
