import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def apply(idx, a, f):
    a[idx] = f(a[idx])


apply.inspect(FLOATS.extent, FLOATS, lambda x: x + 1.0)
