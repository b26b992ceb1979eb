"""A loop's else."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def search(idx, a):
    for k in range(8):
        if a[k] > 1.0:
            break
    else:
        a[idx] = 0.0


amp.parallel_for_each(a.extent, search, a)
