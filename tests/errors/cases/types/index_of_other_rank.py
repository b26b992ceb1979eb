import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def corner(t_idx, a):
    if t_idx.local == (0, 0):
        a[t_idx] = 0.0


corner.inspect(FLOATS.extent.tile(4), FLOATS)
