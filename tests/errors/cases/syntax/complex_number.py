import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def rotate(idx, a):
    z = 2j
    a[idx] = 1.0 if z < 1j else 0.0


rotate.inspect(FLOATS.extent, FLOATS)
