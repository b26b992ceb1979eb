import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def narrow(idx, a):
    x: amp.int8 = a[idx]
    a[idx] = x


narrow.inspect(INTS.extent, INTS)
