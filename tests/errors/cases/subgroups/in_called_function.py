import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(64, np.int32))
FLOATS = amp.array_view(np.zeros(64, np.float32))


@amp.func
def total(value):
    return amp.subgroup.add(value)


@amp.kernel
def program(t_idx, a, x):
    if t_idx.local[0] % 2 == 0:
        a[t_idx] = total(a[t_idx])


amp.parallel_for_each(FLOATS.extent.tile(16), program, INTS, FLOATS)
