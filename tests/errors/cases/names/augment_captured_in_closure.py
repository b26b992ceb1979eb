import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

total = 0


@amp.parallel_for_each(FLOATS.extent)
def _(idx):
    FLOATS[idx] = 1.0
    total += 1
