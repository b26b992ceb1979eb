import numpy as np

import vkamp as amp


@amp.kernel
def keep(idx, a):
    pair = (a[idx], 1)
    kept = amp.private(2, type(pair))
    kept[0] = pair


a = amp.array_view(np.zeros(8, np.float32))
amp.parallel_for_each(a.extent, keep, a)
