"""A list of positions as the subscript."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def pick(idx, a):
    a[[0, 2, 4]] = 0.0


amp.parallel_for_each(a.extent, pick, a)
