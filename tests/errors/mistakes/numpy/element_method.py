"""An element, converted as in numpy."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def whole(idx, a):
    a[idx] = a[idx].item()


amp.parallel_for_each(a.extent, whole, a)
