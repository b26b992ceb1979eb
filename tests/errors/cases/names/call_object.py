import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Weights:
    @amp.func
    def at(self, i):
        return i * 2


@amp.kernel
def run(idx, weights, a):
    a[idx] = weights(1)


run.inspect(FLOATS.extent, Weights(), FLOATS)
