import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def sign(x):
    if x > 0.0:
        return 1.0
    return


@amp.kernel
def signs(idx, a):
    a[idx] = sign(a[idx])


signs.inspect(FLOATS.extent, FLOATS)
