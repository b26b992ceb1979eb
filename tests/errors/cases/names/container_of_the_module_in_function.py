import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def looked_up(i):
    return FLOATS[i]


@amp.kernel
def double(idx, a):
    a[idx] = looked_up(idx[0])


double.inspect(FLOATS.extent, amp.array_view(np.zeros(12, np.float32)))
