import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def label(idx, a):
    name = "red"
    a[idx] = 1.0


label.inspect(FLOATS.extent, FLOATS)
