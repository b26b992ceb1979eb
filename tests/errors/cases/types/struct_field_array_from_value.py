import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Body:
    position: (amp.float32, 3)


@amp.kernel
def run(idx, a):
    body = Body(1.0)
    a[idx] = body.position[0]


run.inspect(FLOATS.extent, FLOATS)
