import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def again(idx, a):
    again(idx, a)


again.inspect(FLOATS.extent, FLOATS)
