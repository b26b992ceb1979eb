"""A print with file=."""

import sys

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def show(idx, a):
    print(a[idx], file=sys.stderr)


amp.parallel_for_each(a.extent, show, a)
