import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def barrier_of(t_idx):
    return t_idx.barrier


@amp.kernel
def sync(t_idx, a):
    barrier_of(t_idx).wait()


sync.inspect(FLOATS.extent.tile(4), FLOATS)
