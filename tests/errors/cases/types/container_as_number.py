import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def double(idx, a):
    a[idx] = a * 2.0


double.inspect(FLOATS.extent, FLOATS)
