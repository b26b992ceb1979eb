import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def unroll(idx, a, n):
    for k in amp.static_range(n):
        a[idx] += 1.0


unroll.inspect(FLOATS.extent, FLOATS, 4)
