import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.func
def agreed(t_idx, flag):
    t_idx.barrier.wait()
    return flag > 0


@amp.kernel
def either(t_idx, a, n):
    if n > 3 or t_idx.local[0] > 1 or agreed(t_idx, n):
        a[t_idx] = 0


either.inspect(INTS.extent.tile(4), INTS, 3)
