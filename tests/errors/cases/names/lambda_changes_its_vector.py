import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def apply(idx, a, *, op: amp.constant):
    v = amp.float2(a[idx], 1.0)
    a[idx] = op(v) + v.x


def shifted(v):
    v.x = 2.0
    return v.y


apply.inspect(FLOATS.extent, FLOATS, op=shifted)
