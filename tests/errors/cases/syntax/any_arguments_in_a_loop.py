import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def first_positive(idx, out, *inputs):
    for a in inputs:
        if a[idx] > 0:
            break
    out[idx] = a[idx]


first_positive.inspect(FLOATS.extent, FLOATS, FLOATS, FLOATS)
