"""numpy's transpose."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))
b = amp.array_view(np.ones((4, 4), np.float32))


@amp.kernel
def transpose(idx, a, b):
    b[idx] = a.T[idx]


amp.parallel_for_each(a.extent, transpose, a, b)
