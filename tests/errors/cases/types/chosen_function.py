import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def step(idx, a):
    up = lambda x: x + 1  # noqa: E731
    down = lambda x: x - 1  # noqa: E731
    a[idx] = (up if a[idx] > 1 else down)(a[idx])


amp.parallel_for_each(FLOATS.extent, step, FLOATS)
