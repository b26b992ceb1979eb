import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def member(idx, a):
    if idx[0] in {1, 2, 3}:
        a[idx] = 1.0


member.inspect(FLOATS.extent, FLOATS)
