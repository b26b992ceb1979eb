import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def sync(t_idx, a):
    t_idx.barrier.wait(1)


sync.inspect(FLOATS.extent.tile(4), FLOATS)
