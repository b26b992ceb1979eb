"""An atomic on a local variable."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.zeros(8, np.int32))


@amp.kernel
def count(idx, a):
    n = 0
    amp.atomic_fetch_add(n, 1)
    a[idx] = n


amp.parallel_for_each(a.extent, count, a)
