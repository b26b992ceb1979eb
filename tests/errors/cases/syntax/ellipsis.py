import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def later(idx, a):
    ...
    a[idx] = 1.0


later.inspect(FLOATS.extent, FLOATS)
