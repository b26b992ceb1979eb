import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def seed(idx, a):
    a[idx] = 3_000_000_000


seed.inspect(INTS.extent, INTS)
