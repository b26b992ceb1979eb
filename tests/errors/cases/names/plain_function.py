import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


def square(x):
    return x * x


@amp.kernel
def squares(idx, a):
    a[idx] = square(a[idx])


squares.inspect(FLOATS.extent, FLOATS)
