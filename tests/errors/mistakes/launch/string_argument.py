"""A mode as a string."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a, mode):
    if mode == "double":
        a[idx] *= 2.0


amp.parallel_for_each(a.extent, scale, a, "double")
