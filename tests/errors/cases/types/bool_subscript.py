import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def masked(idx, a):
    a[a[idx] > 0.0] = 0.0


masked.inspect(FLOATS.extent, FLOATS)
