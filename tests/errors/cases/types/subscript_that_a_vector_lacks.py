import numpy as np

import vkamp as amp


@amp.kernel
def third(idx, a):
    v = amp.float2(a[idx], 1.0)
    a[idx] = v[2]


amp.parallel_for_each(amp.extent(4), third, amp.array_view(np.zeros(4, np.float32)))
