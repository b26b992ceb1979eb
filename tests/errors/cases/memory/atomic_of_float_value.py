import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def total(idx, a, bins):
    amp.atomic_fetch_add(bins[0], a[idx])


total.inspect(FLOATS.extent, FLOATS, INTS)
