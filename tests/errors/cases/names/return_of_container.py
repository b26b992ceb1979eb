import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def same(a):
    return a


@amp.kernel
def pick(idx, a):
    a[idx] = same(a)[idx]


pick.inspect(FLOATS.extent, FLOATS)
