import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def scaled(x, *, factor):
    return x * factor


@amp.kernel
def double(idx, a):
    a[idx] = scaled(a[idx])


double.inspect(FLOATS.extent, FLOATS)
