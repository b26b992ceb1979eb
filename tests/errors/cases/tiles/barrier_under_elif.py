import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def choose(t_idx, a, n):
    if n > 3:
        a[t_idx] = 1.0
    elif t_idx.global_[0] < n:
        t_idx.barrier.wait()


choose.inspect(FLOATS.extent.tile(4), FLOATS, 3)
