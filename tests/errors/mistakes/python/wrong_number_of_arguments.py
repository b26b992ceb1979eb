"""A device function with an argument too few."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.func
def lerp(x, y, t):
    return x + (y - x) * t


@amp.kernel
def blend(idx, a):
    a[idx] = lerp(a[idx], 1.0)


amp.parallel_for_each(a.extent, blend, a)
