import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def before(idx, a):
    if (1, 2) < (idx[0], 3):
        a[idx] = 0.0


before.inspect(FLOATS.extent, FLOATS)
