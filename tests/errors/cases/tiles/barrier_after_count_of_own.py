import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def own_count(t_idx, a):
    count = 0
    while count < a.extent[0]:
        count += 1
        if count > t_idx.local[0]:
            break
    if count == 2:
        t_idx.barrier.wait()
    a[t_idx] = count


own_count.inspect(INTS.extent.tile(4), INTS)
