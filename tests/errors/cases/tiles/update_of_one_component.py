import numpy as np

import vkamp as amp

CELLS = amp.array_view(np.zeros((12, 2), np.int32), dtype=amp.int2)


@amp.kernel
def count(idx, cells):
    cells[0].x += 1


count.inspect(CELLS.extent, CELLS)
