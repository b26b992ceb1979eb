import numpy as np

import vkamp as amp

UINTS = amp.array_view(np.zeros(12, np.uint32))


@amp.kernel
def unset(idx, a):
    a[idx] = -1


unset.inspect(UINTS.extent, UINTS)
