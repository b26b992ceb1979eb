"""An Ellipsis in a subscript."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))


@amp.kernel
def first(idx, a):
    a[..., 0] = 1.0


amp.parallel_for_each(a.extent, first, a)
