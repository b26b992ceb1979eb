import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def scale(idx, a, z):
    a[idx] = 0.0


scale.inspect(FLOATS.extent, FLOATS, np.clongdouble(2j))
