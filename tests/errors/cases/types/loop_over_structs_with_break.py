import numpy as np

import vkamp as amp


@amp.struct
class Pair:
    a: amp.int32
    b: amp.int32


NUMBERS = amp.array_view(np.zeros(4, np.int32))


@amp.kernel
def run(idx, numbers):
    for p in (Pair(numbers[idx], 1), Pair(2, 3)):
        if p.a == 1:
            break
        numbers[idx] += p.b
    numbers[idx] += p.a


run.inspect(NUMBERS.extent, NUMBERS)
