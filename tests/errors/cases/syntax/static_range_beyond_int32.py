import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def few(idx, a):
    for i in amp.static_range(2**31 - 2, 2**31):
        a[idx] += 1.0


few.inspect(FLOATS.extent, FLOATS)
