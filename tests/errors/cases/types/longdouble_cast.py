import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def wide(idx, a):
    a[idx] = np.longdouble(a[idx])


wide.inspect(FLOATS.extent, FLOATS)
