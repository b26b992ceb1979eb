import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    tmp = amp.private(4, amp.float32)
    tmp[0] = 1.0
    a[idx] = tmp[-5]


local.inspect(FLOATS.extent, FLOATS)
