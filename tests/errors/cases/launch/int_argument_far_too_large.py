import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def fill(idx, a, n):
    a[idx] = n


fill.inspect(INTS.extent, INTS, -(2**40))
