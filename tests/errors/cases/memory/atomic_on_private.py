import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def count(idx, bins):
    tmp = amp.private(4, amp.int32)
    tmp[0] = 0
    amp.atomic_fetch_add(tmp[0], 1)
    bins[idx] = 0


count.inspect(INTS.extent, INTS)
