import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def smooth(t_idx, a):
    a[t_idx] = (a[t_idx.global_ - 1] + a[t_idx.global_ + 1]) / 2.0


smooth.inspect(FLOATS.extent.tile(8), FLOATS)
