import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, a, out):
    out[idx] = np.mean(a)


total.inspect(FLOATS.extent, FLOATS, FLOATS)
