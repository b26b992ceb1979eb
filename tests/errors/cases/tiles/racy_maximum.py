import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def largest(idx, a, best):
    best[0] = max(best[0], a[idx])


largest.inspect(INTS.extent, INTS, INTS)
