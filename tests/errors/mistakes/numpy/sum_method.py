"""The sum as a method."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def normalise(idx, a):
    a[idx] = a[idx] / a.sum()


amp.parallel_for_each(a.extent, normalise, a)
