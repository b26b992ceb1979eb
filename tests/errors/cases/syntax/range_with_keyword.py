import numpy as np

import vkamp as amp


@amp.kernel
def evens(idx, a):
    for k in range(10, step=2):
        a[idx] += k


amp.parallel_for_each(amp.extent(4), evens, amp.array_view(np.zeros(4, np.int32)))
