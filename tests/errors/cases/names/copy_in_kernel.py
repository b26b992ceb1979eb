import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def duplicate(idx, a, b):
    amp.copy(a, b)


duplicate.inspect(FLOATS.extent, FLOATS, FLOATS)
