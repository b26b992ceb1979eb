"""A numpy array as the argument."""

import numpy as np

import vkamp as amp

a = np.ones(8, np.float32)


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


amp.parallel_for_each(amp.extent(8), scale, a)
