import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def shared(t_idx, a):
    values = amp.tile_static(4, amp.float32)
    values[t_idx.local] = a[t_idx]
    t_idx.barrier()
    a[t_idx] = values[0]


shared.inspect(FLOATS.extent.tile(4), FLOATS)
