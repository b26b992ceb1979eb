import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def huge(idx, a):
    for i in amp.static_range(10**5000):
        a[idx] += 1.0


huge.inspect(FLOATS.extent, FLOATS)
