"""The local index of a kernel without tiles."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def number(t_idx, a):
    a[t_idx] = float(t_idx.local[0])


amp.parallel_for_each(a.extent, number, a)
