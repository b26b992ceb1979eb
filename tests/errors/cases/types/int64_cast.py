import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def wide(idx, a):
    a[idx] = np.int64(a[idx])


wide.inspect(amp.accelerator("swiftshader"), INTS.extent, INTS)
