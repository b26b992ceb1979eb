import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def position(idx, a):
    primes = (2, 3, 5)
    a[idx] = primes.index(3)


amp.parallel_for_each(INTS.extent, position, INTS)
