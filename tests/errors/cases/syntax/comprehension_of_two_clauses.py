import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a):
    for x in (a[i] * a[k] for i in range(2) for k in range(i)):
        a[idx] += x


total.inspect(FLOATS.extent, FLOATS)
