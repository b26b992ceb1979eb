import numpy as np

import vkamp as amp

NUMBERS = amp.array_view(np.zeros(4, np.int32))


@amp.kernel
def run(idx, a):
    total = 0
    for k in range(idx[0])[1:]:
        total += k
    a[idx] = total


run.inspect(NUMBERS.extent, NUMBERS)
