import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
DEVICE = amp.accelerator("swiftshader").default_view


@amp.kernel
def report(idx, a):
    print("value", a[idx])


amp.parallel_for_each(DEVICE, FLOATS.extent, report, FLOATS)
