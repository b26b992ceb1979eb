import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def wide(idx, a):
    x: amp.float64 = 1.0
    a[idx] = x


wide.inspect(amp.accelerator("swiftshader"), FLOATS.extent, FLOATS)
