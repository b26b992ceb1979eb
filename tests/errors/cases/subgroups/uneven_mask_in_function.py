import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(64, np.int32))
FLOATS = amp.array_view(np.zeros(64, np.float32))


@amp.func
def swapped(value, mask):
    return amp.subgroup.shuffle_xor(value, mask)


@amp.kernel
def program(t_idx, a, x):
    a[t_idx] = swapped(a[t_idx], a[t_idx] % 4)


amp.parallel_for_each(FLOATS.extent.tile(16), program, INTS, FLOATS)
