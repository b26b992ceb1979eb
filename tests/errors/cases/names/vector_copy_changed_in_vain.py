import numpy as np

import vkamp as amp


@amp.struct
class P:
    x: amp.float32
    v: amp.float32


PS = amp.array_view(np.zeros(12, P))
QS = amp.array_view(np.zeros(12, P))
OUT = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, vs):
    v = vs[idx]
    v.x = 9.0


run.inspect(amp.extent(12), amp.array_view(np.zeros(12, amp.float2.dtype)))
