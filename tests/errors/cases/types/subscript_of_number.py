import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def digits(idx, a):
    x = a[idx]
    a[idx] = x[0]


digits.inspect(FLOATS.extent, FLOATS)
