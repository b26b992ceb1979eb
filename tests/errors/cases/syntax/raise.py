import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def check_sign(idx, a):
    if a[idx] < 0.0:
        raise ValueError("negative")


check_sign.inspect(FLOATS.extent, FLOATS)
