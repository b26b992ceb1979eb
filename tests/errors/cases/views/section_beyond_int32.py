import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def launch(idx, a):
    part = a.section(amp.index(2147483647), amp.extent(2))
    part[1] = 3.0


launch.inspect(FLOATS.extent, FLOATS)
