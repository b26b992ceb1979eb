import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def transform(idx, f, a):
    a[idx] = f(a[idx])


def with_table():
    tables = (amp.array_view(np.zeros(12, np.float32)), 2)
    transform.inspect(FLOATS.extent, lambda x: tables[0][0] + x, FLOATS)


with_table()
