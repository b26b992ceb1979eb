import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def squares(idx, a):
    if idx[0] > 3:
        power = lambda x: x * x
    else:
        power = lambda x: x
    a[idx] = power(a[idx])


squares.inspect(FLOATS.extent, FLOATS)
