import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def raw(idx, a):
    b = b"\x00"
    a[idx] = 1.0


raw.inspect(FLOATS.extent, FLOATS)
