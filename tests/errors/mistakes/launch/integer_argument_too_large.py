"""An argument that int32 cannot hold."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.int32))


@amp.kernel
def fill(idx, a, seed):
    a[idx] = seed


amp.parallel_for_each(a.extent, fill, a, 2**40)
