import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def zeros():
    values = amp.private(4, amp.float32)
    values[0] = 0.0
    return values


@amp.kernel
def pick(idx, a):
    v = zeros()
    a[idx] = v[0]


pick.inspect(FLOATS.extent, FLOATS)
