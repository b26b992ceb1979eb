"""A comparison of text."""

import numpy as np

import vkamp as amp

MODE = "fast"
a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a):
    if MODE.startswith("f"):
        a[idx] *= 2.0


amp.parallel_for_each(a.extent, scale, a)
