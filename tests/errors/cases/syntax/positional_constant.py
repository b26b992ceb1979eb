import numpy as np

import vkamp as amp


@amp.kernel
def scale(idx, a, factor: amp.constant):
    a[idx] *= factor


a = amp.array_view(np.zeros(4, np.float32))
amp.parallel_for_each(a.extent, scale, a, 2)
