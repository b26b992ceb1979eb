import math

import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def root(idx, a):
    a[idx] = math.sqrt(-1.0)


root.inspect(FLOATS.extent, FLOATS)
