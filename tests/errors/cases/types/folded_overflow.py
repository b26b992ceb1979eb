import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def large(idx, a):
    a[idx] = 2**40


large.inspect(INTS.extent, INTS)
