import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def steps(idx, a):
    r = range(4)
    a[idx] = r[0]


steps.inspect(FLOATS.extent, FLOATS)
