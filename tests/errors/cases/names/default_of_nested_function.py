import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def moves(idx, a):
    shift = a[0]
    moved = lambda x, by=shift: x + by
    a[idx] = moved(a[idx])


moves.inspect(FLOATS.extent, FLOATS)
