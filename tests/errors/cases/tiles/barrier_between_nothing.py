import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def idle(t_idx, a):
    if a[t_idx] > 0.0:
        return
    number = t_idx.local[0]


@amp.kernel
def waiting(t_idx, a):
    number = a[t_idx]
    t_idx.barrier.wait()


idle.inspect(FLOATS.extent.tile(8), FLOATS)
waiting.inspect(FLOATS.extent.tile(8), FLOATS)
