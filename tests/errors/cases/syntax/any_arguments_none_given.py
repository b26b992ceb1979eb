import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def first(idx, out, *inputs):
    out[idx] = inputs[0][idx]


first.inspect(FLOATS.extent, FLOATS)
