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
def run(idx, ps, qs):
    p = ps[idx]
    if qs[idx].x > 0.0:
        p = qs[idx]
    p.x = 1.0


run.inspect(PS.extent, PS, QS)
