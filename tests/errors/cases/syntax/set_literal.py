import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def member(idx, a):
    some = {1, 2, 3}
    a[idx] = len(some)


member.inspect(FLOATS.extent, FLOATS)
