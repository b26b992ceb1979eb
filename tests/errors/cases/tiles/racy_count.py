import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def tile_count(t_idx, a, counts):
    counts[t_idx.tile] += 1


tile_count.inspect(FLOATS.extent.tile(4), FLOATS, INTS)
