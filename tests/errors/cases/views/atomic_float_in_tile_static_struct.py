import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(t, a):
    values = amp.tile_static(4, PAIR)
    amp.atomic_fetch_add(values[0].weight, 1.0)
    a[t] = 1.0


launch.inspect(FLOATS.extent.tile(4), FLOATS)
