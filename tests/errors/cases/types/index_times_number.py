import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def numbers(idx, a):
    a[idx] = idx * 2


numbers.inspect(FLOATS.extent, FLOATS)
