import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def tickets(t_idx, counter, a):
    ticket = amp.atomic_fetch_add(counter[0], 1)
    if ticket < 4:
        t_idx.barrier.wait()
    a[t_idx] = ticket


tickets.inspect(INTS.extent.tile(4), amp.array_view(np.zeros(3, np.int32)), INTS)
