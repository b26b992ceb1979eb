import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def rounds(t_idx, state, a):
    while state[t_idx.tile] > 0:
        t_idx.barrier.wait()
        if t_idx.local[0] == 0:
            state[t_idx.tile] -= 1
        t_idx.barrier.wait()
    a[t_idx] = 0


rounds.inspect(INTS.extent.tile(4), amp.array_view(np.zeros(3, np.int32)), INTS)
