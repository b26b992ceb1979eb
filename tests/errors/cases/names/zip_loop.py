import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a, b):
    for x in zip(a, b):
        a[idx] += 1.0


total.inspect(FLOATS.extent, FLOATS, FLOATS)
