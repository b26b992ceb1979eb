"""A mask as the subscript."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def clear(idx, a):
    a[a > 0.5] = 0.0


amp.parallel_for_each(a.extent, clear, a)
