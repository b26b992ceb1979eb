import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def middle(idx, a):
    a[idx * 0.5] = 0.0


middle.inspect(FLOATS.extent, FLOATS)
