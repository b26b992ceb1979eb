import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, out):
    sum_ = 0.0
    for w in (0.25, 0.5, 0.25):
        sum_ += w
    out[idx] = sum_


total.inspect(FLOATS.extent, FLOATS)
