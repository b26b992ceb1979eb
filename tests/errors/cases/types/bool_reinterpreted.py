import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def flags(idx, a):
    a.reinterpret_as(bool)[idx] = True


flags.inspect(FLOATS.extent, FLOATS)
