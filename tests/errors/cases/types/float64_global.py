import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

FACTOR = np.float64(0.1)


@amp.kernel
def scale(idx, a):
    a[idx] *= amp.float64(FACTOR)


scale.inspect(amp.accelerator("swiftshader"), FLOATS.extent, FLOATS)
