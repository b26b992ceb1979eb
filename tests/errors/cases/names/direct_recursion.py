import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.func
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@amp.kernel
def factorials(idx, a):
    a[idx] = factorial(idx[0])


factorials.inspect(INTS.extent, INTS)
