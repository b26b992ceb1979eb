import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clear(idx, a, *, sizes: amp.constant):
    a[idx] = sizes[0]


clear.inspect(FLOATS.extent, FLOATS, sizes=(1, [2, 3]))
