import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def flags(idx, a):
    if any((a[idx] < 0.0, a[idx] > 1.0)):
        a[idx] = 0.5


flags.inspect(FLOATS.extent, FLOATS)
