"""The index in arithmetic, as if it were a number."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def ramp(idx, a):
    a[idx] = idx * 0.5


amp.parallel_for_each(a.extent, ramp, a)
