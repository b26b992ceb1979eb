"""Every second element, as a slice."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
b = amp.array_view(np.zeros(8, np.float32))


@amp.kernel
def blur(idx, a, b):
    b[idx] = sum(a[::2]) / 4


amp.parallel_for_each(a.extent, blur, a, b)
