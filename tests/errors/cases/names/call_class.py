import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Point:
    pass


@amp.kernel
def make(idx, a):
    p = Point()
    a[idx] = 1.0


make.inspect(FLOATS.extent, FLOATS)
