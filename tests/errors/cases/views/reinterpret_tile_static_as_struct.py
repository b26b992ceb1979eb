import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
MATRIX = amp.array_view(np.zeros((4, 6), np.float32))
PAIR = np.dtype([("count", np.int32), ("weight", np.float32)])


@amp.kernel
def launch(t, a):
    values = amp.tile_static(8, amp.float32)
    values.reinterpret_as(PAIR)[0].count = 1
    t.barrier.wait()
    a[t] = values[0]


launch.inspect(FLOATS.extent.tile(4), FLOATS)
