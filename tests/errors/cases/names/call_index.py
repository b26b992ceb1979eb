import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def component(idx, a):
    a[idx] = idx(0)


component.inspect(INTS.extent, INTS)
