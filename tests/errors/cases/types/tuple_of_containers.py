import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def both(idx, a, b):
    pair = (a, idx[0])
    pair[0][idx] = 0.0


both.inspect(FLOATS.extent, FLOATS, FLOATS)
