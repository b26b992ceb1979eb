import numpy as np

import vkamp as amp


@amp.kernel
def count(idx, pixels, counts):
    amp.atomic_fetch_add(counts[pixels[idx]], 1)


count.inspect(amp.extent(12), amp.array_view(np.zeros(12, np.uint8)), amp.array_view(np.zeros(256, np.uint16)))
