import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(64, np.int32))
FLOATS = amp.array_view(np.zeros(64, np.float32))


@amp.kernel
def program(idx, a, x):
    a[idx] = amp.subgroup.size()


amp.parallel_for_each(FLOATS.extent, program, INTS, FLOATS)
