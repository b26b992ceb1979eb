import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def early(idx, a):
    a[idx] = x
    x = 1.0


early.inspect(FLOATS.extent, FLOATS)
