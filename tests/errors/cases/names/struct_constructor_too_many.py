import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Body:
    mass: amp.float32


@amp.kernel
def run(idx, a):
    a[idx] = Body(2.0, 1.0).mass


run.inspect(FLOATS.extent, FLOATS)
