import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def split(idx, a):
    row, col = idx
    a[idx] = row


split.inspect(INTS.extent, INTS)
