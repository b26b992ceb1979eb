import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def flags(t_idx, a):
    seen = amp.tile_static(4, amp.bool_)
    a[t_idx] = 0.0


flags.inspect(FLOATS.extent.tile(4), FLOATS)
