import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def find(x):
    if x > 0.0:
        return x
    return False


@amp.kernel
def quotients(idx, a):
    a[idx] = find(a[idx])


quotients.inspect(FLOATS.extent, FLOATS)
