import numpy as np

import vkamp as amp

CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def wait_some(t_idx, cells):
    v = amp.int2(t_idx.local[0], 2)
    if v.yx.y == 1:
        t_idx.barrier.wait()
    cells[t_idx] = v


wait_some.inspect(CELLS.extent.tile(4), CELLS)
