import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def beyond(idx, a):
    a[idx + a.extent] = 0.0


beyond.inspect(FLOATS.extent, FLOATS)
