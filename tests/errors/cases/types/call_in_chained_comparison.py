import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def limit(x):
    return x * 2.0


@amp.kernel
def between(idx, a):
    if 0.0 < a[idx] < limit(a[idx]):
        a[idx] = 0.0


between.inspect(FLOATS.extent, FLOATS)
