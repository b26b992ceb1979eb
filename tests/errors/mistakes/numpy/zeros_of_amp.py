"""numpy's constructor, looked for in vkamp."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scratch(idx, a):
    tmp = amp.zeros(4, amp.float32)
    a[idx] = tmp[0]


amp.parallel_for_each(a.extent, scratch, a)
