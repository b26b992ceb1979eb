import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def halves(idx, a):
    breakpoint(a[idx] < 0.0)


halves.inspect(FLOATS.extent, FLOATS)
