import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def last_count(t_idx, a):
    k = 0
    for k in range(t_idx.local[0]):
        k = 3
    if k == 3:
        t_idx.barrier.wait()
    a[t_idx] = k


last_count.inspect(INTS.extent.tile(4), INTS)
