"""A list as the argument."""

import numpy as np

import vkamp as amp


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


amp.parallel_for_each(amp.extent(3), scale, [1.0, 2.0, 3.0])
