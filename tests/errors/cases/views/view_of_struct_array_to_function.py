import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


FOUR = np.dtype([("values", np.float32, (4,))])


@amp.func
def first(v):
    return v[0]


@amp.kernel
def launch(idx, a):
    a[idx] = first(a.reinterpret_as(FOUR)[idx].values.section(1, 2))


launch.inspect(FLOATS.extent, FLOATS)
