import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def early(t_idx, a):
    for i in range(4):
        if a[t_idx] > 0.0:
            break
        t_idx.barrier.wait()
    a[t_idx] = 0.0


early.inspect(FLOATS.extent.tile(4), FLOATS)
