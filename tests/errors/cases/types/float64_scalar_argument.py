import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def scale(idx, a, factor):
    a[idx] *= factor


scale.inspect(amp.accelerator("swiftshader"), FLOATS.extent, FLOATS, np.float64(2.0))
