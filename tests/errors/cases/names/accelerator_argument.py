import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def where(idx, a, device):
    a[idx] = 0.0


where.inspect(FLOATS.extent, FLOATS, amp.accelerator("cpu"))
