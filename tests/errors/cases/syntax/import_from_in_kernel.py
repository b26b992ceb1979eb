import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def late_import(idx, a):
    from math import sqrt

    a[idx] = sqrt(a[idx])


late_import.inspect(FLOATS.extent, FLOATS)
