import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.struct
class Cell:
    row: amp.int32
    count: amp.int32


@amp.kernel
def fields(t_idx, a, n):
    cell = Cell(t_idx.local[0], n)
    if cell.count > 0:
        t_idx.barrier.wait()
    if cell.row > 0:
        t_idx.barrier.wait()
    a[t_idx] = 0


fields.inspect(INTS.extent.tile(4), INTS, 3)
