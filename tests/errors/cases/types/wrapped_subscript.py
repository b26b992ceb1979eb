import numpy as np

import vkamp as amp

UINTS = amp.array_view(np.zeros(12, np.uint32))


@amp.kernel
def before(idx, a):
    a[idx] = a[amp.uint32(0) - 1]


before.inspect(UINTS.extent, UINTS)
