"""A scratch array, as numpy makes it."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def smooth(idx, a):
    window = np.zeros(3, np.float32)
    for k in range(3):
        window[k] = a[idx]
    a[idx] = window[0] + window[1] + window[2]


amp.parallel_for_each(a.extent, smooth, a)
