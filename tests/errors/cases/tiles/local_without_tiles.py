import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def where(idx, a):
    a[idx] = idx.local[0]


where.inspect(INTS.extent, INTS)
