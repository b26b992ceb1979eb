import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a):
    for w, k in zip((0.5, 0.25), range(3), strict=True):
        a[idx] += w * k


total.inspect(FLOATS.extent, FLOATS)
