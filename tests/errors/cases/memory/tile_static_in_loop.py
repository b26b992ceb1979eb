import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(t_idx, a):
    for k in range(4):
        tmp = amp.tile_static(4, amp.float32)
        tmp[t_idx.local] = a[t_idx]


local.inspect(FLOATS.extent.tile(4), FLOATS)
