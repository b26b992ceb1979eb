import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def smooth(idx, values):
    values[idx] = undefined_thing


smooth.inspect(FLOATS.extent, FLOATS)
