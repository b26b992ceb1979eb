import numpy as np

import vkamp as amp

INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def scale(idx, a, n):
    a[idx] = n


scale.inspect(amp.accelerator("swiftshader"), INTS.extent, INTS, np.int64(2**40))
