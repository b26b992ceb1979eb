import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


def launch():
    gain = 2.0

    @amp.kernel
    def scale(idx, a):
        gain = gain * 2.0
        a[idx] = gain

    scale.inspect(FLOATS.extent, FLOATS)


launch()
