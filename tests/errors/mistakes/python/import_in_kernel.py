"""An import in a kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def roots(idx, a):
    import math

    a[idx] = math.sqrt(a[idx])


amp.parallel_for_each(a.extent, roots, a)
