import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def scale(idx, a, weights):
    a[idx] = weights[0]


scale.inspect(FLOATS.extent, FLOATS, (1.0, 2.0))
