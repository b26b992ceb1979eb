import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def weights(idx, a):
    w = [0.25, 0.5, 0.25]
    a[idx] = w[1]


weights.inspect(FLOATS.extent, FLOATS)
