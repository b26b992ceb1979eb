import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def walk(t_idx, a):
    while True:
        if a[t_idx] > 1.0:
            break
        t_idx.barrier.wait()
        a[t_idx] += 1.0


walk.inspect(FLOATS.extent.tile(4), FLOATS)
