import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def split(idx, a):
    first, *rest = a
    a[idx] = first


split.inspect(FLOATS.extent, FLOATS)
