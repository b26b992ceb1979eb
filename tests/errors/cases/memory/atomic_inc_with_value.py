import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def total(idx, bins):
    amp.atomic_fetch_inc(bins[0], 1)


total.inspect(INTS.extent, INTS)
