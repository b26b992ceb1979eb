import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def hash_(idx, a):
    h = amp.uint32(17)
    h = h * 0.5
    a[idx] = h


hash_.inspect(FLOATS.extent, FLOATS)
