import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(idx, a):
    a[idx] = float(a.reinterpret_as(amp.float64)[0])


launch.inspect(amp.accelerator("swiftshader"), FLOATS.extent, FLOATS)
