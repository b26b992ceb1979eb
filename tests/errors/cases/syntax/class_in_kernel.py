import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def local_class(idx, a):
    class Pair:
        x = 1.0

    a[idx] = Pair.x


local_class.inspect(FLOATS.extent, FLOATS)
