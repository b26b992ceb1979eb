import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

counter = 0


@amp.kernel
def count(idx, a):
    global counter
    counter += 1


count.inspect(FLOATS.extent, FLOATS)
