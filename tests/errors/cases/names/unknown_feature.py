import numpy as np

import vkamp as amp

COUNTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def wide(idx, counts):
    counts[idx] = 1 if amp.target.has("long") else 0


wide.inspect(COUNTS.extent, COUNTS)
