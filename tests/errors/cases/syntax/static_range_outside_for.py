import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def steps(idx, a):
    r = amp.static_range(4)
    a[idx] = 0.0


steps.inspect(FLOATS.extent, FLOATS)
