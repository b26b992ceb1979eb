import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))

BIG = 10**5000


@amp.kernel
def large(idx, a):
    a[idx] = BIG


large.inspect(INTS.extent, INTS)
