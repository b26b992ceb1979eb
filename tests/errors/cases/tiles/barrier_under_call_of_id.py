import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def is_first(i):
    return i == 0


@amp.kernel
def half(t_idx, a):
    if is_first(t_idx.local[0]):
        t_idx.barrier.wait()
    a[t_idx] = 0.0


half.inspect(FLOATS.extent.tile(4), FLOATS)
