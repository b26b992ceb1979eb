import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a, out):
    sum_ = 0.0
    for k in idx[0]:
        sum_ += k
    out[idx] = sum_


total.inspect(FLOATS.extent, FLOATS, FLOATS)
