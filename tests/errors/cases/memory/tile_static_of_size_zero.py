import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(t_idx, a):
    tmp = amp.tile_static((4, 0), amp.float32)
    a[t_idx] = 0.0


local.inspect(FLOATS.extent.tile(4), FLOATS)
