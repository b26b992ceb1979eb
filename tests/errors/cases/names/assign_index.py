import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def shift(idx, a):
    idx = idx + 1
    a[idx] = 0.0


shift.inspect(FLOATS.extent, FLOATS)
