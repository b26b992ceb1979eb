"""A lookup table as a dict."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def table(idx, a):
    values = {0: 1.0, 1: 2.0}
    a[idx] = values[idx[0] % 2]


amp.parallel_for_each(a.extent, table, a)
