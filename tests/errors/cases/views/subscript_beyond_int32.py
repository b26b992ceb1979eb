import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def launch(idx, a):
    a.section(amp.index(2147483000)).view_as(amp.extent(2, 500))[1, 499] = 3.0


launch.inspect(FLOATS.extent, FLOATS)
