import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def narrow(idx, a):
    a[idx] = amp.float32(1, 2)


narrow.inspect(FLOATS.extent, FLOATS)
