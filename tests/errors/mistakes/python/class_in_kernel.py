"""An object, made in the kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


@amp.kernel
def move(idx, a):
    p = Point(a[idx], 1.0)
    a[idx] = p.x + p.y


amp.parallel_for_each(a.extent, move, a)
