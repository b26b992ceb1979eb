import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, a):
    a[idx] = np.matmul(a, a)[idx]


run.inspect(FLOATS.extent, FLOATS)
