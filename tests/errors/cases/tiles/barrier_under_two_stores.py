import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def flags(t_idx, a, n):
    flag = amp.tile_static((), amp.int32)
    if t_idx.local[0] == 0:
        flag[()] = n
    t_idx.barrier.wait_with_global_memory_fence()
    if flag[()] > 2:
        t_idx.barrier.wait()
    a[t_idx] = 0


flags.inspect(INTS.extent.tile(4), INTS, 3)
