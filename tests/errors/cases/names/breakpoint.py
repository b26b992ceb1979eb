import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
DEVICE = amp.accelerator("swiftshader").default_view


@amp.func
def half(x):
    if x < 0.0:
        breakpoint()
    return x / 2.0


@amp.kernel
def halves(idx, a):
    a[idx] = half(a[idx])


amp.parallel_for_each(DEVICE, FLOATS.extent, halves, FLOATS)
