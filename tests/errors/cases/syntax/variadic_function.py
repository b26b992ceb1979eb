import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def total(first, **others):
    return first


@amp.kernel
def many(idx, a):
    a[idx] = total(1.0, second=2.0)


many.inspect(FLOATS.extent, FLOATS)
