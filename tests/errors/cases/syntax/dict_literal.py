import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def named(idx, a):
    point = {"x": 1.0, "y": 2.0}
    a[idx] = point["x"]


named.inspect(FLOATS.extent, FLOATS)
