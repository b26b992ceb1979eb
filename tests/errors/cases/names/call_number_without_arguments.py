import numpy as np

import vkamp as amp


@amp.kernel
def called(idx, a):
    x = a[idx]
    a[idx] = x()


amp.parallel_for_each(amp.extent(4), called, amp.array_view(np.zeros(4, np.float32)))
