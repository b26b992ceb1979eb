import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def split(idx, a):
    first, *rest = (1.0, 2.0, 3.0)
    a[idx] = first


split.inspect(FLOATS.extent, FLOATS)
