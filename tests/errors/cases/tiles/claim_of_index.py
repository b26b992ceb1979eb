import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def whole_index(t_idx, a):
    a[amp.uniform(t_idx.tile)] = 1


whole_index.inspect(INTS.extent.tile(4), INTS)
