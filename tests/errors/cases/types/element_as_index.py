import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, a):
    for i in a:
        a[i] = 1.0


run.inspect(FLOATS.extent, FLOATS)
