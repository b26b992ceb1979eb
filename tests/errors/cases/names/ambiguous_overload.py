import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def mix(x: amp.float32, y: amp.int32):
    return x + y


@mix.register
def _(x: amp.int32, y: amp.float32):
    return x - y


@amp.kernel
def mixes(idx, a):
    a[idx] = mix(idx[0], 1)


mixes.inspect(FLOATS.extent, FLOATS)
