import numpy as np

import vkamp as amp


@amp.kernel
def sums(t_idx, x, y):
    total = amp.tile.sum(t_idx, x[t_idx])
    if t_idx.local == (0,):
        y[t_idx.tile] = total


y = amp.array(amp.extent(4), amp.float32)
amp.parallel_for_each(amp.extent(64).tile(16), sums, amp.array_view(np.ones(64, np.float32)), y)
