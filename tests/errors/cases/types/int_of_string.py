import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def parse(idx, a):
    a[idx] = int("one")


parse.inspect(FLOATS.extent, FLOATS)
