import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Body:
    mass: amp.float32

    @amp.func
    def grow(self):
        self.mass += 1.0
        return self.mass


@amp.kernel
def run(idx, a):
    body = Body(2.0)
    a[idx] = body.grow()


run.inspect(FLOATS.extent, FLOATS)
