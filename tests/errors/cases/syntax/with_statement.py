import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def guarded(idx, a):
    with np.errstate(all="ignore"):
        a[idx] = 1.0 / a[idx]


guarded.inspect(FLOATS.extent, FLOATS)
