import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def largest(idx, a):
    a[idx] = max(())


largest.inspect(FLOATS.extent, FLOATS)
