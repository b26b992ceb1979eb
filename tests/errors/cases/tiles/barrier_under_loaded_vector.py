import numpy as np

import vkamp as amp

CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def wait_some(t_idx, cells):
    if cells[t_idx] == amp.int2(1, 2):
        t_idx.barrier.wait()


wait_some.inspect(CELLS.extent.tile(4), CELLS)
