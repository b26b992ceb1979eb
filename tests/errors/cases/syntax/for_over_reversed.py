import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def backwards(idx, a):
    for k in reversed(range(4)):
        a[idx] = a[idx] * 0.5 + k


backwards.inspect(FLOATS.extent, FLOATS)
