import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def clear(a, i):
    a[i] = 0.0


@amp.kernel
def zero(idx, a):
    a[idx] = clear(a, idx) + 1.0


zero.inspect(FLOATS.extent, FLOATS)
