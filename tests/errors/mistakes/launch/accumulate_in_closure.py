"""A Python total, added to by the kernel."""

import numpy as np

import vkamp as amp

total = 0.0
a = amp.array_view(np.ones(8, np.float32))


@amp.parallel_for_each(a.extent)
def add_up(idx):
    global total
    total += a[idx]
