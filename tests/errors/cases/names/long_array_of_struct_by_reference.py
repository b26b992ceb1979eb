import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Table:
    values: (amp.float32, 400)


@amp.func
def first(row):
    return row[0]


@amp.kernel
def rows(idx, a):
    table = Table()
    a[idx] = first(table.values)


rows.inspect(FLOATS.extent, FLOATS)
