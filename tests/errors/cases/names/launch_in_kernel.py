import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def outer(idx, a):
    amp.parallel_for_each(a.extent, outer, a)


outer.inspect(FLOATS.extent, FLOATS)
