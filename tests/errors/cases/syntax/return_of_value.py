import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def answer(idx, a):
    return a[idx] * 2.0


answer.inspect(FLOATS.extent, FLOATS)
