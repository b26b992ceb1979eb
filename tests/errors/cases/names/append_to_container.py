import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def grow(idx, a):
    a.append(1.0)


grow.inspect(FLOATS.extent, FLOATS)
