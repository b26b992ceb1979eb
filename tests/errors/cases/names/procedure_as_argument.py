import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def clear(a, i):
    a[i] = 0.0


@amp.func
def same(x):
    return x


@amp.kernel
def zero(idx, a):
    a[idx] = same(clear(a, idx))


zero.inspect(FLOATS.extent, FLOATS)
