import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def rotate(t_idx, a, out):
    values = amp.tile_static(8, amp.float32)
    i = t_idx.local[0]
    if i < 4:
        values[i] = a[t_idx]
    else:
        out[t_idx] = values[i - 4]


rotate.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
