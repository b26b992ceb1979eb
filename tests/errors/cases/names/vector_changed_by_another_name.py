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
def run(idx, out):
    v = amp.float2(1.0, 2.0)
    w = v
    w.x = 9.0
    out[idx] = v.x


run.inspect(OUT.extent, OUT)
