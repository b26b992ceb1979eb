import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(t_idx, a):
    tmp = tile_static(4, amp.float32)
    a[t_idx] = tmp[0]


local.inspect(FLOATS.extent.tile(4), FLOATS)
