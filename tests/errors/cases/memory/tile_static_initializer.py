import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(t_idx, a):
    tmp = amp.tile_static(4, amp.float32, 0.0)
    a[t_idx] = tmp[t_idx.local]


local.inspect(FLOATS.extent.tile(4), FLOATS)
