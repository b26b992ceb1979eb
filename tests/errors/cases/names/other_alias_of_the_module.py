import numpy as np

import vkamp
import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local(idx, a):
    tmp = vkamp.privat(4, amp.float32)
    a[idx] = tmp[0]


local.inspect(FLOATS.extent, FLOATS)
