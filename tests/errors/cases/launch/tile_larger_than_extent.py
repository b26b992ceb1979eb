import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def clear(t_idx, a):
    a[t_idx] = 0.0


clear.inspect(amp.extent(1023).tile(1024), FLOATS)
