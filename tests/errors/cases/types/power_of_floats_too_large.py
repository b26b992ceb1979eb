import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def large(idx, a):
    a[idx] = 10.0**400


large.inspect(FLOATS.extent, FLOATS)
