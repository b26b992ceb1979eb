import numpy as np

import vkamp as amp

MATRIX = amp.array_view(np.zeros((4, 4), np.float32))


@amp.kernel
def column(idx, a):
    a[idx[0], 0] = sum(a[1:3, idx[0]])


column.inspect(amp.extent(4), MATRIX)
