import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def forget(idx, a):
    x = a[idx]
    del x


forget.inspect(FLOATS.extent, FLOATS)
