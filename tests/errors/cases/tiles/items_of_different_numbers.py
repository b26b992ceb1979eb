import numpy as np

import vkamp as amp
from vkamp import tile


@amp.func
def ordered(t_idx, keys, values):
    return tile.sort(t_idx, keys, values)


@amp.kernel
def sort(t_idx, a):
    keys = tile.load(t_idx, a, items=2)
    keys, values = ordered(t_idx, keys, a[t_idx])
    tile.store(t_idx, a, values)


a = amp.array_view(np.zeros(16, np.float32))
amp.parallel_for_each(amp.extent(8).tile(8), sort, a)
