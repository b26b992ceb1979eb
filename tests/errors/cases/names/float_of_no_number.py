import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def parsed(idx, a):
    a[idx] = float("1.5x")


parsed.inspect(FLOATS.extent, FLOATS)
