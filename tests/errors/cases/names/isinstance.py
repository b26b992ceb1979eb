import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def typed(idx, a):
    if isinstance(a, amp.array_view):
        a[idx] = 0.0


typed.inspect(FLOATS.extent, FLOATS)
