import numpy as np

import vkamp as amp


@amp.kernel
def increase(idx, source):
    source[idx] += 1.0


increase.inspect(amp.extent(12), amp.array_view(np.zeros(12, np.float32), readonly=True))
