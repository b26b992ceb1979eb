"""All threads store to one element."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))
found = amp.array_view(np.zeros(1, np.int32))


@amp.kernel
def any_set(idx, a, found):
    found[0] = a[idx]


amp.parallel_for_each(a.extent, any_set, a, found)
