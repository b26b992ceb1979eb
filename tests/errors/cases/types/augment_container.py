import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def both(idx, a):
    a += 1.0


both.inspect(FLOATS.extent, FLOATS)
