"""An int that becomes a float."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def total(idx, a):
    s = 0
    for k in range(8):
        s += a[k]
    a[idx] = s


amp.parallel_for_each(a.extent, total, a)
