import numpy as np

import vkamp as amp


@amp.func
def window(x, *, width: amp.constant):
    if width % 2 == 0:
        raise ValueError(f"a window has a middle: {width} is even")
    return x / width


@amp.kernel
def smooth(idx, a):
    a[idx] = window(a[idx], width=4)


a = amp.array_view(np.zeros(8, np.float32))
amp.parallel_for_each(a.extent, smooth, a)
