import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def adder(n):
    return lambda x: x + n


@amp.kernel
def adds(idx, a):
    a[idx] = adder(2)(a[idx])


adds.inspect(FLOATS.extent, FLOATS)
