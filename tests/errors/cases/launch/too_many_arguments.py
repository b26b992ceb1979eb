import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


clear.inspect(FLOATS.extent, FLOATS, FLOATS)
