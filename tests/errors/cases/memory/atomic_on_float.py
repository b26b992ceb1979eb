import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, sums):
    amp.atomic_fetch_and(sums[0], 1)


total.inspect(FLOATS.extent, FLOATS)
