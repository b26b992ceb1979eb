import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def search(t_idx, a, wanted):
    for k in range(8):
        if a[t_idx] + k == wanted:
            return
    t_idx.barrier.wait()
    a[t_idx] = 0


search.inspect(INTS.extent.tile(4), INTS, 3)
