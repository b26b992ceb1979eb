import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def half(t_idx, a):
    flag = amp.tile_static(1, amp.int32)
    if t_idx.local[0] == 0:
        flag[0] = 1
    if flag[0] == 1:
        t_idx.barrier.wait()
    a[t_idx] = 0.0


half.inspect(FLOATS.extent.tile(4), FLOATS)
