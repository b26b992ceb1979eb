"""All threads add to one element."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
total = amp.array_view(np.zeros(1, np.float32))


@amp.kernel
def add_up(idx, a, total):
    total[0] += a[idx]


amp.parallel_for_each(a.extent, add_up, a, total)
