import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def flip(idx, a):
    a[idx] = ~a[idx]


flip.inspect(FLOATS.extent, FLOATS)
