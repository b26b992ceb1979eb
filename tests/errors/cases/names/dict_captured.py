import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

options = {"gain": 2.0}


@amp.kernel
def scale(idx, a):
    a[idx] *= options["gain"]


scale.inspect(FLOATS.extent, FLOATS)
