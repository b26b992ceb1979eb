import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def product(idx, a):
    x = a[idx]
    a[idx] = x(2.0)


product.inspect(FLOATS.extent, FLOATS)
