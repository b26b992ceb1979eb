import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.kernel
def double(t_idx, a):
    a[t_idx] *= 2.0
    t_idx.barrier.wait()


double.inspect(FLOATS.extent.tile(8), FLOATS)
