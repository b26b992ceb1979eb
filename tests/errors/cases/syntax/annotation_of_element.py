import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def declare(idx, a):
    a[idx]: amp.float32 = 1.0


declare.inspect(FLOATS.extent, FLOATS)
