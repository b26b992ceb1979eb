import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def pair(idx, a):
    a[idx] = 1.0, 2.0


pair.inspect(FLOATS.extent, FLOATS)
