import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(64, np.int32))
FLOATS = amp.array_view(np.zeros(64, np.float32))


@amp.kernel
def program(t_idx, a, x):
    x[t_idx] = amp.subgroup.broadcast(x[t_idx], a[t_idx])


amp.parallel_for_each(FLOATS.extent.tile(16), program, INTS, FLOATS)
