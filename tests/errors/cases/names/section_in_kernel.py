import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def window(idx, a):
    part = a.section(amp.index(2), amp.extent(4))
    part[0] = 1.0


window.inspect(FLOATS.extent, FLOATS)
