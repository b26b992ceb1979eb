import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def halve(idx, counts):
    counts[idx] = counts[idx] / 2


halve.inspect(INTS.extent, INTS)
