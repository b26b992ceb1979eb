import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def safe_divide(idx, a, out):
    try:
        out[idx] = 1.0 / a[idx]
    except ZeroDivisionError:
        out[idx] = 0.0


safe_divide.inspect(FLOATS.extent, FLOATS, FLOATS)
