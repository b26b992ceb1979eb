import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def when(idx, a, t):
    a[idx] = 0.0


when.inspect(FLOATS.extent, FLOATS, np.datetime64("2020-01-01"))
