import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def stream(idx, a):
    yield a[idx]


stream.inspect(FLOATS.extent, FLOATS)
