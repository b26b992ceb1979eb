import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def add(sums, i, x):
    sums[i] += x


@amp.kernel
def tile_sum(t_idx, a, sums):
    add(sums, 0, a[t_idx])


tile_sum.inspect(FLOATS.extent.tile(4), FLOATS, FLOATS)
