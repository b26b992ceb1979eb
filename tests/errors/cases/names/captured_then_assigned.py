import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def moves(idx, a):
    shift = 1.0

    def moved(x):
        return x + shift

    shift = 2.0
    a[idx] = moved(a[idx])


moves.inspect(FLOATS.extent, FLOATS)
