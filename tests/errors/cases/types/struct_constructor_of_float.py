import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Body:
    id: amp.int32


@amp.kernel
def run(idx, a):
    body = Body(a[idx])
    a[idx] = body.id


run.inspect(FLOATS.extent, FLOATS)
