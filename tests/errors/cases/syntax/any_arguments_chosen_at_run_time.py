import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def pick(idx, out, *inputs):
    out[idx] = inputs[idx[0] % 2][idx]


pick.inspect(FLOATS.extent, FLOATS, FLOATS, FLOATS)
