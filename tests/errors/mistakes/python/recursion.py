"""A recursive function."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.func
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@amp.kernel
def numbers(idx, a):
    a[idx] = fib(idx[0])


amp.parallel_for_each(a.extent, numbers, a)
