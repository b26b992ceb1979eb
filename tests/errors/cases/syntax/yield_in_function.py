import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def upto(n):
    yield n


@amp.kernel
def stream(idx, a):
    a[idx] = upto(3)


stream.inspect(FLOATS.extent, FLOATS)
