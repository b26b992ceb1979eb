import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def divide(x, y):
    if y == 0.0:
        return 0.0
    return x / y, True


@amp.kernel
def quotients(idx, a):
    a[idx] = divide(a[idx], 2.0)


quotients.inspect(FLOATS.extent, FLOATS)
