import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def where(t_idx, a):
    a[t_idx.x] = 0.0


where.inspect(FLOATS.extent.tile(4), FLOATS)
