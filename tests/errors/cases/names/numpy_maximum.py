import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def relu(idx, a):
    a[idx] = np.maximum(a[idx], 0.0)


relu.inspect(FLOATS.extent, FLOATS)
