"""An atomic maximum of floats."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.zeros(8, np.float32))
top = amp.array_view(np.zeros(1, np.float32))


@amp.kernel
def highest(idx, a, top):
    amp.atomic_fetch_max(top[0], a[idx])


amp.parallel_for_each(a.extent, highest, a, top)
