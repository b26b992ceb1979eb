import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    tmp = amp.array(a.extent, amp.float32)
    a[idx] = tmp[idx]


local.inspect(FLOATS.extent, FLOATS)
