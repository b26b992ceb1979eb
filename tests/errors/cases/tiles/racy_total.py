import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def tile_sum(t_idx, matrix, sums):
    total = amp.tile_static(1, amp.float32)
    total[0] += matrix[t_idx]
    t_idx.barrier.wait()
    sums[t_idx.tile] = total[0]


tile_sum.inspect(FLOATS.extent.tile(4), FLOATS, FLOATS)
