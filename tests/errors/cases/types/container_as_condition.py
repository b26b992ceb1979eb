import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def nonempty(idx, a):
    if a:
        a[idx] = 1.0


nonempty.inspect(FLOATS.extent, FLOATS)
