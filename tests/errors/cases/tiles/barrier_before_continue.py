import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def rows(t_idx, a):
    for i in range(4):
        t_idx.barrier.wait()
        if t_idx.local[0] < i:
            continue
        a[t_idx] += i


rows.inspect(INTS.extent.tile(4), INTS)
