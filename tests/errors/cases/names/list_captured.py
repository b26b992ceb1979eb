import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

weights = [0.25, 0.5, 0.25]


@amp.kernel
def smooth(idx, a):
    a[idx] = weights[1]


smooth.inspect(FLOATS.extent, FLOATS)
