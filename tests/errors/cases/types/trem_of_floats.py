import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def rest(idx, a):
    a[idx] = amp.trem(a[idx], 2.0)


rest.inspect(FLOATS.extent, FLOATS)
