import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def typed(idx, a):
    if isinstance(a[idx], 3.0):
        a[idx] = 0.0


typed.inspect(FLOATS.extent, FLOATS)
