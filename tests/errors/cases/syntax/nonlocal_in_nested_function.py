import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def counts(idx, a):
    count = 0

    def more():
        nonlocal count
        count = count + 1
        return count

    a[idx] = more()


counts.inspect(FLOATS.extent, FLOATS)
