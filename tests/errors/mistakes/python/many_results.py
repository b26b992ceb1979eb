"""Two results without a name for one of them."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.func
def both(x):
    return x + 1.0, x - 1.0, x


@amp.kernel
def split(idx, a):
    up, down = both(a[idx])
    a[idx] = up * down


amp.parallel_for_each(a.extent, split, a)
