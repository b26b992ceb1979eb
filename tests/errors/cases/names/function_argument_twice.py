import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def scale(x, factor=2.0):
    return factor * x


@amp.kernel
def blend(idx, a):
    a[idx] = scale(a[idx], x=3.0)


blend.inspect(FLOATS.extent, FLOATS)
