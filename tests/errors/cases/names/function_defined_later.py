import numpy as np

import vkamp as amp

NUMBERS = amp.array_view(np.zeros(4, np.int32))


@amp.kernel
def run(idx, a):
    def first(x):
        return second(x) + 1

    a[idx] = first(a[idx])

    def second(x):
        return x * 2

    a[idx] = second(a[idx])


run.inspect(NUMBERS.extent, NUMBERS)
