import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def as_float(idx, a):
    a[idx] = idx[0].astype(np.float32)


as_float.inspect(FLOATS.extent, FLOATS)
