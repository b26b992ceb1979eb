"""A print while debugging."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def show(idx, a):
    print("a =", a[idx])


amp.parallel_for_each(a.extent, show, a)
