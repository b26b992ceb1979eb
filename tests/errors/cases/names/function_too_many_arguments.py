import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def twice(x):
    return 2.0 * x


@amp.kernel
def blend(idx, a):
    a[idx] = twice(a[idx], 1.0)


blend.inspect(FLOATS.extent, FLOATS)
