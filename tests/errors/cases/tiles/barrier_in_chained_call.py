import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def inner(t_idx):
    t_idx.barrier.wait()


@amp.func
def outer(t_idx, i):
    if i == 0:
        inner(t_idx)


@amp.kernel
def nested(t_idx, a):
    outer(t_idx, t_idx.local[0])
    a[t_idx] = 0.0


nested.inspect(FLOATS.extent.tile(4), FLOATS)
