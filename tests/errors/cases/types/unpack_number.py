import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def split(idx, a):
    x, y = a[idx]
    a[idx] = x


split.inspect(FLOATS.extent, FLOATS)
