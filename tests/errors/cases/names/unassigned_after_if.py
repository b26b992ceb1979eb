import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def relu(idx, a):
    if a[idx] > 0.0:
        x = a[idx]
    a[idx] = x


relu.inspect(FLOATS.extent, FLOATS)
