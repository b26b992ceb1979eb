import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def reverse(t_idx, a):
    tmp = amp.tile_statc(4, amp.float32)
    tmp[t_idx.local] = a[t_idx]


reverse.inspect(FLOATS.extent.tile(4), FLOATS)
