"""One name for a number and an index."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def twice(idx, a):
    x = idx
    x = a[x]
    a[idx] = x


amp.parallel_for_each(a.extent, twice, a)
