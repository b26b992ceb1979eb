import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Body:
    mass: amp.float32


@amp.struct
class Light:
    mass: amp.float32


@amp.kernel
def run(idx, a):
    body = Body(1.0)
    body = Light(2.0)
    a[idx] = body.mass


run.inspect(FLOATS.extent, FLOATS)
