import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def declare(idx, a):
    x: str = 1.0
    a[idx] = x


declare.inspect(FLOATS.extent, FLOATS)
