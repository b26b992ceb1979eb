"""The place of something by np.where."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def clip(idx, a):
    a[idx] = np.where(a > 0.5)


amp.parallel_for_each(a.extent, clip, a)
