import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def chosen(idx, a):
    a[idx] = np.where(a[idx] > 0.5, 1.0)


chosen.inspect(FLOATS.extent, FLOATS)
