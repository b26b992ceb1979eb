"""A matrix product by np.dot of row and column."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))
b = amp.array_view(np.ones((4, 4), np.float32))
c = amp.array_view(np.zeros((4, 4), np.float32))


@amp.kernel
def product(idx, a, b, c):
    c[idx] = np.dot(a[idx[0], :], b[:, idx[1]])


amp.parallel_for_each(c.extent, product, a, b, c)
