import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def row_sum(idx, a):
    parts = (a[i] for i in range(4))
    a[idx] = parts


row_sum.inspect(FLOATS.extent, FLOATS)
