"""A kernel of any keywords."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def add(idx, a, **settings):
    a[idx] += settings["n"]


amp.parallel_for_each(a.extent, add, a, n=1)
