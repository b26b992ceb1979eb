import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def gather(idx, a):
    found = []
    if a[idx] > 0.0:
        found.append(a[idx])


gather.inspect(FLOATS.extent, FLOATS)
