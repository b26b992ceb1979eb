import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def plain(idx, flags, a):
    if amp.uniform(flags[0] > 0):
        a[idx] = 1


plain.inspect(INTS.extent, INTS, INTS)
