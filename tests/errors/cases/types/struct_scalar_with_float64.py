import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))

particle = np.zeros(1, [("x", "f8")])[0]


@amp.kernel
def move(idx, a, p):
    a[idx] = p.x


move.inspect(amp.accelerator("swiftshader"), FLOATS.extent, FLOATS, particle)
