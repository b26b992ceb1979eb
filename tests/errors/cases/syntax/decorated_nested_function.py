import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def squares(idx, a):
    @amp.kernel
    def square(x):
        return x * x

    a[idx] = square(a[idx])


squares.inspect(FLOATS.extent, FLOATS)
