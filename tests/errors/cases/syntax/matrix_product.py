import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def product(idx, a, b):
    a[idx] = a @ b


product.inspect(FLOATS.extent, FLOATS, FLOATS)
