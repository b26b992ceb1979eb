import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def halved(idx, a):
    a[idx] = a[idx].view(np.float16)


halved.inspect(INTS.extent, INTS)
