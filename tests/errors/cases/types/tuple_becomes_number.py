import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def shrink(idx, a):
    x = (1.0, 2.0)
    x = 3.0
    a[idx] = x


shrink.inspect(FLOATS.extent, FLOATS)
