import numpy as np

import vkamp as amp

UINTS = amp.array_view(np.zeros(12, np.uint32))


@amp.kernel
def unset(idx, a):
    a[idx] = amp.uint32(-1)


unset.inspect(UINTS.extent, UINTS)
