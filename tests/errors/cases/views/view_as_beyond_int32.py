import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def launch(idx, a):
    a.view_as(amp.extent(65536, 65537))[65535, 65536] = 3.0


launch.inspect(FLOATS.extent, FLOATS)
