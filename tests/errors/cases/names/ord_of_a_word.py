import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def letters(idx, a):
    a[idx] = ord("ab")


letters.inspect(FLOATS.extent, FLOATS)
