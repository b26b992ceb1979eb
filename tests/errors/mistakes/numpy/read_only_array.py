"""A read-only array, written."""

import numpy as np

import vkamp as amp

data = np.arange(8, dtype=np.float32)
data.flags.writeable = False
a = amp.array_view(data)


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


amp.parallel_for_each(a.extent, scale, a)
