import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def count(idx, bins):
    n = 0
    amp.atomic_fetch_add(n, 1)
    bins[idx] = n


count.inspect(INTS.extent, INTS)
