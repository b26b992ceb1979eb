"""A list that grows."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def stack(idx, a):
    items = []
    items.append(a[idx])


amp.parallel_for_each(a.extent, stack, a)
