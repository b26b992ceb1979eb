import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


def increase(x):
    return x + 1.0


@amp.kernel
def apply(idx, a, f):
    a[idx] = f(a[idx])


apply.inspect(FLOATS.extent, FLOATS, increase)
