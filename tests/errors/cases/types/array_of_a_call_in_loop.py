import numpy as np

import vkamp as amp
from vkamp import tile


@amp.kernel
def sort(t_idx, a):
    items = tile.load(t_idx, a, items=2)
    for shift in range(0, 32, 8):
        items = tile.merge_sort(t_idx, items, less=lambda x, y: (x >> shift) & 255 < (y >> shift) & 255)
    tile.store(t_idx, a, items)


a = amp.array_view(np.zeros(16, np.int32))
amp.parallel_for_each(amp.extent(8).tile(8), sort, a)
