import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def first(row):
    return row[0]


@amp.kernel
def rows(idx, a):
    table = amp.private((4, 4), amp.float32)
    table[0, 0] = 1.0
    a[idx] = first(table[0])


rows.inspect(FLOATS.extent, FLOATS)
