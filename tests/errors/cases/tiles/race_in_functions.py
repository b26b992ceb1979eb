import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(24, np.float32))


@amp.func
def put(values, i, x):
    values[i] = x


@amp.func
def neighbours(values, i):
    return values[(i + 1) % 8] - values[(i + 7) % 8]


@amp.kernel
def slopes(t_idx, a, out):
    values = amp.tile_static(8, amp.float32)
    put(values, t_idx.local[0], a[t_idx])
    out[t_idx] = neighbours(values, t_idx.local[0])


slopes.inspect(FLOATS.extent.tile(8), FLOATS, FLOATS)
