import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def rounded(idx, a):
    a[idx] = round(2.25, 1)


rounded.inspect(FLOATS.extent, FLOATS)
