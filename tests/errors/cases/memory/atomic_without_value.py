import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def total(idx, bins):
    amp.atomic_fetch_add(bins[0])


total.inspect(INTS.extent, INTS)
