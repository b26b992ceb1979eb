import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def large(t_idx, a):
    tmp = amp.tile_static(100_000, amp.float32)
    tmp[t_idx.local] = a[t_idx]
    a[t_idx] = 0.0


large.inspect(FLOATS.extent.tile(4), FLOATS)
