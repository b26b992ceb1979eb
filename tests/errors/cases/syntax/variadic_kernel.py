import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def many(idx, *containers):
    containers[0][idx] = 1.0


many.inspect(FLOATS.extent, FLOATS, FLOATS)
