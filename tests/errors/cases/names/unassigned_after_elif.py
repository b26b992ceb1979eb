import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def steps(idx, a):
    if a[idx] > 1.0:
        x = 1.0
    elif a[idx] > 0.0:
        x = 0.5
    a[idx] = x


steps.inspect(FLOATS.extent, FLOATS)
