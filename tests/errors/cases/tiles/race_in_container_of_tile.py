import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def reverse(t_idx, a):
    value = a[t_idx.tile_origin + (7 - t_idx.local[0])]
    a[t_idx] = value


reverse.inspect(FLOATS.extent.tile(8), FLOATS)
