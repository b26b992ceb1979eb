"""A misspelt constant of the module."""

import numpy as np

import vkamp as amp

THRESHOLD = 0.5
a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def clip(idx, a):
    if a[idx] > THRESHHOLD:
        a[idx] = 0.0


amp.parallel_for_each(a.extent, clip, a)
