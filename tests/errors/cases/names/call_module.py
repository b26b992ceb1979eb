import math

import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def root(idx, a):
    a[idx] = math(a[idx])


root.inspect(FLOATS.extent, FLOATS)
