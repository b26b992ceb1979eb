import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def two(t_idx, a):
    a[t_idx] = amp.uniform(t_idx.tile[0], t_idx.local[0])


two.inspect(INTS.extent.tile(4), INTS)
