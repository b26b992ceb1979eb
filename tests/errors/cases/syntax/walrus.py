import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def positive(idx, a):
    if (x := a[idx]) > 0.0:
        a[idx] = -x


positive.inspect(FLOATS.extent, FLOATS)
