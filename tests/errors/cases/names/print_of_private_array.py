import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a):
    own = amp.private(3, amp.int32)
    print("all", own)


report.inspect(FLOATS.extent, FLOATS)
