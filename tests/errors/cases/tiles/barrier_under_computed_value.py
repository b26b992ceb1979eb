import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def half(t_idx, a):
    i = t_idx.global_[0]
    parity = i % 2
    odd = parity == 1
    if odd:
        t_idx.barrier.wait()
    a[t_idx] = 0.0


half.inspect(FLOATS.extent.tile(4), FLOATS)
