import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def least(idx, a):
    pair = (a[idx], 1.0)
    a[idx] = min(*pair)


least.inspect(FLOATS.extent, FLOATS)
