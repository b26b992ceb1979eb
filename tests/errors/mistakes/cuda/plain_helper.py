"""A helper without a decorator."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


def square(x):
    return x * x


@amp.kernel
def squares(idx, a):
    a[idx] = square(a[idx])


amp.parallel_for_each(a.extent, squares, a)
