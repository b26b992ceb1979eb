import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def stuck(idx, a):
    for i in amp.static_range(0, 8, 0):
        a[i] = 0.0


stuck.inspect(FLOATS.extent, FLOATS)
