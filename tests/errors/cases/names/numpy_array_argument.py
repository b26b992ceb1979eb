import numpy as np

import vkamp as amp


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


data = np.zeros(12, np.float32)
clear.inspect(amp.extent(12), data)
