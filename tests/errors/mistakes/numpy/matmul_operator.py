"""A matrix product with @."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))
b = amp.array_view(np.ones((4, 4), np.float32))
c = amp.array_view(np.zeros((4, 4), np.float32))


@amp.kernel
def product(idx, a, b, c):
    c[idx] = a @ b


amp.parallel_for_each(c.extent, product, a, b, c)
