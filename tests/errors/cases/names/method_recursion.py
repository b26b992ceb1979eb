import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Factorial:
    @amp.func
    def __call__(self, n):
        return 1 if n < 2 else n * self(n - 1)


@amp.kernel
def run(idx, factorial, a):
    a[idx] = factorial(idx[0])


run.inspect(FLOATS.extent, Factorial(), FLOATS)
