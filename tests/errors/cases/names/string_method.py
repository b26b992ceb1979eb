import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def upper(idx, a):
    a[idx] = "a".upper()


upper.inspect(FLOATS.extent, FLOATS)
