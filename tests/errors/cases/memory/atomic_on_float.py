import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def total(idx, sums):
    amp.atomic_fetch_max(sums[0], 1.0)


total.inspect(FLOATS.extent, FLOATS)
