import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def claim(idx, lock):
    if amp.atomic_compare_exchange(lock[0], 0, 1):
        lock[1] = idx[0]


claim.inspect(INTS.extent, INTS)
