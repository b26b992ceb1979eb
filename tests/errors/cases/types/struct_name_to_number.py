import numpy as np

import vkamp as amp


@amp.struct
class Body:
    mass: amp.float32


BODIES = amp.array_view(np.zeros(12, Body))


@amp.kernel
def run(idx, bodies):
    body = bodies[idx]
    body = 1.0


run.inspect(BODIES.extent, BODIES)
