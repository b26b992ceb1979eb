import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def add(x, y):
    return x + y


@amp.kernel
def spread(idx, a):
    a[idx] = add(*a)


spread.inspect(FLOATS.extent, FLOATS)
