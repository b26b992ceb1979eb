"""An asynchronous kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
async def add(idx, a):
    a[idx] += 1.0


amp.parallel_for_each(a.extent, add, a)
