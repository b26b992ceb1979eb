import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def head(idx, a):
    part = a[0:4:2]
    a[idx] = part[0]


head.inspect(FLOATS.extent, FLOATS)
