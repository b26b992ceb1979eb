import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def sync(t_idx):
    t_idx.barrier.wait()


@amp.kernel
def all_sync(idx, a):
    sync(idx)
    a[idx] = 0.0


all_sync.inspect(FLOATS.extent, FLOATS)
