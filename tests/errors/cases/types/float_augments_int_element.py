import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def halve(idx, counts):
    counts[idx] *= 0.5


halve.inspect(INTS.extent, INTS)
