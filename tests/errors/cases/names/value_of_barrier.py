import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def sync(t_idx, a):
    done = t_idx.barrier.wait()
    a[t_idx] = 0.0


sync.inspect(FLOATS.extent.tile(4), FLOATS)
