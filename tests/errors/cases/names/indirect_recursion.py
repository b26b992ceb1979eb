import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.func
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@amp.func
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


@amp.kernel
def parity(idx, a):
    a[idx] = is_even(idx[0])


parity.inspect(INTS.extent, INTS)
