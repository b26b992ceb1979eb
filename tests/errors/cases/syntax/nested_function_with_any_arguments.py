import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def sums(idx, a):
    def total(*values):
        return values[0]

    a[idx] = total(a[idx], 1.0)


sums.inspect(FLOATS.extent, FLOATS)
