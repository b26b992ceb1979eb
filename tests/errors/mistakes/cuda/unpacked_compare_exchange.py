import numpy as np

import vkamp as amp


@amp.kernel
def take(idx, locks, taken):
    expected = 0
    old, stored = amp.atomic_compare_exchange(locks[0], expected, 1)
    if stored:
        taken[0] = idx[0]


locks = amp.array_view(np.zeros(1, np.int32))
taken = amp.array_view(np.zeros(1, np.int32))
amp.parallel_for_each(amp.extent(8), take, locks, taken)
