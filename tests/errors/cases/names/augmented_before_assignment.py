import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a):
    for i in range(4):
        sum_ += a[i]
    a[idx] = sum_


total.inspect(FLOATS.extent, FLOATS)
