import numpy as np

import vkamp as amp


@amp.kernel
def wave(idx, a):
    a[idx] = amp.precise_math.sin(a[idx])


wave.inspect(amp.extent(12), amp.array_view(np.zeros(12)))
