import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def loops(t_idx, a):
    for i in range(t_idx.local[0]):
        t_idx.barrier.wait()
    a[t_idx] = 0.0


loops.inspect(FLOATS.extent.tile(4), FLOATS)
