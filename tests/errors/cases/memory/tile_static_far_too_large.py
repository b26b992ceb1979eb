import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(t_idx, a):
    tmp = amp.tile_static((65536, 65536), amp.float32)
    tmp[0, 0] = a[t_idx]


local.inspect(FLOATS.extent.tile(4), FLOATS)
