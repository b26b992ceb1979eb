import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def sync(t_idx):
    t_idx.barrier.wait()


@amp.kernel
def half(t_idx, a):
    if t_idx.local[0] == 0:
        sync(t_idx)
    a[t_idx] = 0.0


half.inspect(FLOATS.extent.tile(4), FLOATS)
