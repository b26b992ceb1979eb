import numpy as np

import vkamp as amp

NUMBERS = amp.array_view(np.zeros(4, np.int32))


@amp.func
def limited(x, limit=None):
    if x > 10:
        limit = 10
    return x if limit is None else limit


@amp.kernel
def run(idx, a):
    a[idx] = limited(a[idx])


run.inspect(NUMBERS.extent, NUMBERS)
