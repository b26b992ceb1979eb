import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def launch(idx, a):
    a.section(amp.index(2147483000)).section(amp.index(1000))[0] = 3.0


launch.inspect(FLOATS.extent, FLOATS)
