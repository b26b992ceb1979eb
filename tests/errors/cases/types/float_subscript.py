import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def middle(idx, a):
    a[idx] = a[idx[0] / 2]


middle.inspect(FLOATS.extent, FLOATS)
