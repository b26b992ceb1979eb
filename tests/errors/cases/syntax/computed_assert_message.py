import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def checked(idx, a):
    assert a[idx] > 0.0, a[idx]


checked.inspect(FLOATS.extent, FLOATS)
