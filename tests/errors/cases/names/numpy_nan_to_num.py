import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def whole(idx, a):
    a[idx] = np.nan_to_num(a[idx])


amp.parallel_for_each(FLOATS.extent, whole, FLOATS)
