import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def halves(t_idx, first, second):
    if first[0] > 0:
        t_idx.barrier.wait()
    second[t_idx] = 0


halves.inspect(INTS.extent.tile(4), INTS.section(0, 8), INTS)
