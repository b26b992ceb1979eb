"""A component as CUDA spells it."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))


@amp.kernel
def columns(t, a):
    a[t.local.y, t.local.x] *= 2.0


amp.parallel_for_each(a.extent.tile(4, 4), columns, a)
