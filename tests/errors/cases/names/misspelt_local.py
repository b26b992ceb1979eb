import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def smooth(idx, values):
    total = values[idx] * 2.0
    values[idx] = totl


smooth.inspect(FLOATS.extent, FLOATS)
