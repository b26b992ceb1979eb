"""A with block in a kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def invert(idx, a):
    with np.errstate(divide="ignore"):
        a[idx] = 1.0 / a[idx]


amp.parallel_for_each(a.extent, invert, a)
