import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def roots(idx, a):
    a[idx] = amp.sqrt(a[idx])


roots.inspect(FLOATS.extent, FLOATS)
