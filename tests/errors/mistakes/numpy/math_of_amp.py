"""A function of math, looked for in vkamp."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def roots(idx, a):
    a[idx] = amp.sqrt(a[idx])


amp.parallel_for_each(a.extent, roots, a)
