"""A timer in the kernel."""

import time

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def slow(idx, a):
    start = time.time()
    a[idx] = start


amp.parallel_for_each(a.extent, slow, a)
