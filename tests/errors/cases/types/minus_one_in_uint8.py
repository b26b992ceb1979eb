import numpy as np

import vkamp as amp


@amp.kernel
def clear(idx, a):
    a[idx] = -1


clear.inspect(amp.extent(12), amp.array_view(np.zeros(12, np.uint8)))
