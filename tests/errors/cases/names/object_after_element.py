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
def run(idx, ps):
    best = ps[0]
    for k in range(3):
        best = P(best.x + ps[k].x, 0.0)
    ps[idx] = best


run.inspect(PS.extent, PS)
