"""None as the argument."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a, mask):
    if mask is None or mask[idx] > 0:
        a[idx] *= 2.0


amp.parallel_for_each(a.extent, scale, a, None)
