import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def grow(idx, a):
    x = a[idx]
    x = amp.private(4, amp.float32)
    a[idx] = 0.0


grow.inspect(FLOATS.extent, FLOATS)
