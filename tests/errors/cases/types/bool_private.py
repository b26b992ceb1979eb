import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def flags(idx, a):
    seen = amp.private(4, bool)
    a[idx] = 0.0


flags.inspect(FLOATS.extent, FLOATS)
