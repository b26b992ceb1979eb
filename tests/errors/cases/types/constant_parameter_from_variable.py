import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def power(x, *, n: amp.constant):
    result = 1.0
    for k in amp.static_range(n):
        result *= x
    return result


@amp.kernel
def cubes(idx, a, n):
    a[idx] = power(a[idx], n=n)


cubes.inspect(FLOATS.extent, FLOATS, 3)
