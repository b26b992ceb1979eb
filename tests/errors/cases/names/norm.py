import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clamp(idx, a):
    a[idx] = amp.norm(a[idx])


clamp.inspect(FLOATS.extent, FLOATS)
