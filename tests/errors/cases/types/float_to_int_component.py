import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def shift(idx, a):
    at = amp.index(1)
    at = at + 0.5
    a[at] = 0.0


shift.inspect(FLOATS.extent, FLOATS)
