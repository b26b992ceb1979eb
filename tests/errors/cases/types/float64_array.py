import numpy as np

import vkamp as amp


@amp.kernel
def clear(idx, a):
    a[idx] = 0.0


clear.inspect(amp.accelerator("swiftshader"), amp.extent(12), amp.array_view(np.zeros(12)))
