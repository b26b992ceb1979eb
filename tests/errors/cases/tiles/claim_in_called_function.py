import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.func
def rounds_of(flags, tile):
    return amp.uniform(flags[tile])


@amp.kernel
def uneven(t_idx, flags, a):
    total = 0
    for _ in range(t_idx.local[0]):
        total += rounds_of(flags, t_idx.tile)
    a[t_idx] = total


uneven.inspect(INTS.extent.tile(4), INTS, INTS)
