import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def loops(idx, a):
    i = 0.5
    for i in range(4):
        a[idx] += 1.0


loops.inspect(FLOATS.extent, FLOATS)
