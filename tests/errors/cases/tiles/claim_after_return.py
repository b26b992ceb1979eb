import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def padded(t_idx, flags, a):
    if not a.extent.contains(t_idx):
        return
    if amp.uniform(flags[t_idx.tile] > 0):
        a[t_idx] = 1


padded.inspect(INTS.extent.tile(4), INTS, INTS)
