"""A variable that is None at first."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def best(idx, a):
    found = None
    for k in range(8):
        if a[k] > 0.5:
            found = k
    if found is not None:
        a[idx] = 1.0


amp.parallel_for_each(a.extent, best, a)
