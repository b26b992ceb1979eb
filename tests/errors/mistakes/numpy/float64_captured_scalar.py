"""numpy's mean of the data, used in the kernel."""

import numpy as np

import vkamp as amp

data = np.linspace(0.0, 1.0, 8)
middle = np.mean(data)
a = amp.array_view(data.astype(np.float32))


@amp.kernel
def centre(idx, a):
    a[idx] -= middle


amp.parallel_for_each(a.extent, centre, a)
