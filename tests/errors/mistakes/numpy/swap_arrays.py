"""Two arrays, swapped in the kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
b = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def step(idx, a, b):
    a, b = b, a
    a[idx] = b[idx]


amp.parallel_for_each(a.extent, step, a, b)
