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
def run(idx, ps, out):
    best = P(0.0, 1.0)
    for k in range(3):
        if ps[k].x > best.x:
            best = ps[k]
    best.v = 0.0
    out[idx] = best.x


run.inspect(PS.extent, PS, OUT)
