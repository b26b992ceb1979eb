import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def sync(t_idx):
    t_idx.barrier.wait()
    return 1.0


@amp.kernel
def half(t_idx, a):
    a[t_idx] = sync(t_idx) if t_idx.local[0] == 0 else 0.0


half.inspect(FLOATS.extent.tile(4), FLOATS)
