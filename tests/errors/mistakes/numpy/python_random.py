"""A random number from Python's module."""

import random

import numpy as np

import vkamp as amp

a = amp.array_view(np.zeros(8, np.float32))


@amp.kernel
def noise(idx, a):
    a[idx] = random.random()


amp.parallel_for_each(a.extent, noise, a)
