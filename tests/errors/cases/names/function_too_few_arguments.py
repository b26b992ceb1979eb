import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def lerp(a, b, t):
    return a + (b - a) * t


@amp.kernel
def blend(idx, a):
    a[idx] = lerp(a[idx], 1.0)


blend.inspect(FLOATS.extent, FLOATS)
