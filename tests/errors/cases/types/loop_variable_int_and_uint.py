import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def loops(idx, a, n):
    for i in range(4):
        a[idx] += 1.0
    for i in range(amp.uint32(4)):
        a[idx] += 1.0
    a[idx] += i


loops.inspect(FLOATS.extent, FLOATS, 4)
