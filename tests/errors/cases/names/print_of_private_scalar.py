import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a):
    own = amp.private((), amp.int32)
    own[()] = 0
    print("all", own)


report.inspect(FLOATS.extent, FLOATS)
