"""A flag that all threads set."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))
found = amp.array_view(np.zeros(1, np.int32))


@amp.kernel
def set_flag(idx, a, found):
    found[0] = 1


amp.parallel_for_each(a.extent, set_flag, a, found)
