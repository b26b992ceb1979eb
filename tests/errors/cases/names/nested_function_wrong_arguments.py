import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def moves(idx, a):
    def moved(x, by):
        return x + by

    a[idx] = moved(a[idx])


moves.inspect(FLOATS.extent, FLOATS)
