import numpy as np

import vkamp as amp

NUMBERS = amp.array_view(np.zeros(4, np.float32))


@amp.kernel
def run(idx, a):
    v = amp.normalize(amp.float3(a[idx], 1.0, 2.0))
    a[idx] = v.x


run.inspect(NUMBERS.extent, NUMBERS)
