import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def last(t_idx, a, out):
    out[t_idx.tile] = a[t_idx]


last.inspect(FLOATS.extent.tile(4), FLOATS, FLOATS)
