import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(t_idx, a):
    if t_idx.local[0] == 0:
        tmp = amp.tile_static(4, amp.float32)
        tmp[0] = 1.0
    a[t_idx] = 0.0


local.inspect(FLOATS.extent.tile(4), FLOATS)
