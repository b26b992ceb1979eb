import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def parsed(idx, a):
    a[idx] = int("1.5")


parsed.inspect(FLOATS.extent, FLOATS)
