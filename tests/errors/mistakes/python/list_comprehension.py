"""A list of neighbours."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def blur(idx, a):
    window = [a[idx[0] + k] for k in range(3)]
    a[idx] = window[0] + window[1] + window[2]


amp.parallel_for_each(amp.extent(6), blur, a)
