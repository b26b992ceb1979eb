import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def smooth(idx, values):
    value[idx] = 2.0


smooth.inspect(FLOATS.extent, FLOATS)
