import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def factorials(idx, a):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    a[idx] = factorial(idx[0])


factorials.inspect(FLOATS.extent, FLOATS)
