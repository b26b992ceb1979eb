import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def crash(idx, a):
    a[idx] = amp.tdiv(a[idx], 0)


crash.inspect(INTS.extent, INTS)
