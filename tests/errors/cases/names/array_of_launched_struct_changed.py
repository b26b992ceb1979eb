import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.struct
class Table:
    values: (amp.float32, 4)


@amp.func
def clear(row):
    row[0] = 0.0


@amp.kernel
def rows(idx, a, table):
    clear(table.values)
    a[idx] = table.values[0]


rows.inspect(FLOATS.extent, FLOATS, Table())
