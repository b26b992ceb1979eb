"""A method that no number has."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def whole(idx, a):
    a[idx] = a[idx].clip(0.0, 1.0)


amp.parallel_for_each(a.extent, whole, a)
