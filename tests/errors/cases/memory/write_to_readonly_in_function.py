import numpy as np

import vkamp as amp


@amp.func
def clear(target, i):
    target[i] = 0.0


@amp.kernel
def clear_all(idx, source):
    clear(source, idx)


clear_all.inspect(amp.extent(12), amp.array_view(np.zeros(12, np.float32), readonly=True))
