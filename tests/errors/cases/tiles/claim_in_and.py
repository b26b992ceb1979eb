import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def early(t_idx, flags, a):
    if t_idx.local[0] < a.extent[0] and amp.uniform(flags[t_idx.tile] > 0):
        a[t_idx] = 1


early.inspect(INTS.extent.tile(4), INTS, INTS)
