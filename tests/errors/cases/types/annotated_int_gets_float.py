import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def half(idx, a):
    x: amp.int32 = a[idx]
    a[idx] = x


half.inspect(FLOATS.extent, FLOATS)
