import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def crash(idx, a):
    a[idx] = 1 / 0


crash.inspect(FLOATS.extent, FLOATS)
