import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def nowhere(idx, a):
    a[amp.index()] = 0.0


nowhere.inspect(FLOATS.extent, FLOATS)
