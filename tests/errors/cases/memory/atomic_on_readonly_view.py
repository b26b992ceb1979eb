import numpy as np

import vkamp as amp


@amp.kernel
def count(idx, bins):
    amp.atomic_fetch_add(bins[0], 1)


count.inspect(amp.extent(12), amp.array_view(np.zeros(12, np.int32), readonly=True))
